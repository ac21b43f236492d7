import { createService, type Service } from 'farthing'
import { client } from 'farthing/client'
import { required } from '../../../src/base/required.js'
import { singlePlans } from '../../../src/sandbox/rehearse/plan.js'
import { rehearse } from '../../../src/sandbox/rehearse/rehearse.js'
import type { Rehearsal, RehearsedCell } from '../../../src/sandbox/rehearse/rehearse-stage.js'
import { showFinding } from '../../../src/sandbox/rehearse/report.js'
import { table } from './page.js'

/** The part of docs/trust.md that shows what a rehearsal finds in our typed client: each call with each fault. */
export const describeRehearsal = async (): Promise<string> => shownRehearsal(await rehearseOwnClient())

/** How many pairs of faults are tried, besides each fault alone. */
const PAIRS = 12

/** Our client charges a card, reads a price, pays it, and lets the shop check the payment. */
async function rehearseOwnClient(): Promise<Rehearsal> {
  const service = createService({ sandbox: true })
  const seeded = await service.sandbox.seed({
    accounts: [{ name: 'News' }],
    users: [{ email: 'reader@example.test' }],
    commodities: [{ account: 'News', descriptor: 'NEWS.ARTICLE', cost: 0.25 }],
  })
  const shop = required(seeded.accounts[0], 'the shop')
  const reader = required(seeded.users[0], 'the reader')
  const { hash } = required(seeded.commodities[0], 'the article')
  const buy = async (fork: Service) => {
    const { topups, commodities, payments } = client(fork).as(reader)
    await topups.create(reader.twin.hostname, { amount: 5, payment_method_id: 'pm_card_visa' })
    const { cost } = await commodities.read(hash)
    const { nonce, timestamp } = await payments.create(hash, { cost })
    await client(fork).as(shop).payments.validate(hash, { nonce, timestamp })
    return hash
  }
  try {
    const { baseline } = await rehearse(service, buy, { runs: 1 })
    return await rehearse(service, buy, { slowMs: 5, runs: 1 + singlePlans(baseline).length + PAIRS, randomSeed: 1 })
  } finally {
    await service.close()
  }
}

function shownRehearsal(rehearsal: Rehearsal): string {
  const { cells, findings, runs } = rehearsal
  const calls = new Map(cells.map((cell) => [callOf(cell), cell]))
  const kinds = [...new Set(cells.map(({ kind }) => kind))]
  const rows = [...calls.keys()].map((call) => [
    call,
    ...kinds.map((kind) => {
      const cell = cells.find((each) => each.kind === kind && callOf(each) === call)
      return cell ? shownCell(cell, rehearsal) : ''
    }),
  ])
  const found = findings.map((finding) => `- ${showFinding(finding, rehearsal).sentence}`)
  const verdict = found.length === 0 ? 'None shows a fault of the client.' : 'They show:'
  return [
    `${runs} runs: one without faults, one for each cell, and ${PAIRS} with two faults. ${verdict}`,
    ...(found.length > 0 ? ['', ...found] : []),
    '',
    table(['call', ...kinds.map((kind) => kind.replaceAll('_', ' '))], rows),
  ].join('\n')
}

const callOf = ({ operation, nth }: RehearsedCell): string => `\`${operation}\`${nth > 1 ? ` ${nth}` : ''}`

function shownCell({ state, judged }: RehearsedCell, rehearsal: Rehearsal): string {
  if (!judged) return 'not run'
  const { verdicts, run } = judged
  const titles = verdicts.map((verdict) => showFinding({ ...verdict, plan: [], run }, rehearsal).title)
  return state === 'passed' ? 'ok' : titles.join(', ')
}
