import { createService } from 'farthing'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { rehearse } from '../../../src/sandbox/rehearse/rehearse.js'
import { rehearsalReport } from '../../../src/sandbox/rehearse/report.js'
import { caller } from '../../support/api.js'
import { howMuch, isWhole } from '../../support/how-much.js'
import { newPaidShop } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newWallet } from '../../support/scenes/x402.js'
import { type BuyingApplication, honoBuyers, itemAgents, itemBuyers } from './item-buyers.js'
import { SLOW_MS } from './shop.js'

const upstream = useUpstream()

/** The faults of each call come first, and then pairs of them. */
const RUNS = howMuch(14, 60)
const HONO_RUNS = howMuch(9, 20)

async function rehearsed(application: BuyingApplication, runs: number) {
  const { findings } = await rehearsal(application, runs)
  return findings.map(({ name, habit, plan }) => [name, habit, plan.map(({ kind }) => kind).join(' ')])
}

/** All buyers share a shop: each run has a fork of its own. */
async function newShop() {
  const service = createService({ sandbox: true, x402Settle: 'idempotent' })
  const call = caller({ url: 'http://localhost', fetch: service.fetch })
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
  const account = await newWallet(call, 5)
  return { service, account, path: `/v4/catalog/items/${item.id}/call?city=Oslo` }
}

let shop: Awaited<ReturnType<typeof newShop>>
beforeAll(async () => {
  shop = await newShop()
})
afterAll(() => shop.service.close())

const rehearsal = (application: BuyingApplication, runs: number) =>
  rehearse(shop.service, application(shop), { slowMs: SLOW_MS, runs })

/** Neither tries again by itself. */
const gaveUp = [
  ['paid_undelivered', 'gives_up', 'lost_after'],
  ['left_pending', 'never_polls', 'pending'],
]
/** Each call of theirs signs anew. */
const signedAnew = [
  ['paid_twice', 'new_key_each_try', 'lost_after'],
  ['paid_twice', 'signs_while_pending', 'pending'],
]
const atItem: Readonly<Record<keyof typeof itemBuyers, readonly (readonly string[])[]>> = {
  '@x402/fetch once': gaveUp,
  '@x402/fetch, tried again': signedAnew,
  '@x402/fetch with an identifier, tried again': [],
  'mppx once': gaveUp,
  'mppx, tried again': signedAnew,
  'mppx with one credential, tried again': [],
}

/** What others do alike, who are tried: unless all are, these are not. */
const tried = <T>(all: Readonly<Record<string, T>>, alike: readonly string[]): [string, T][] =>
  Object.entries(all).filter(([name]) => isWhole || !alike.includes(name))

describe("before farthing's own item", () => {
  test.each(tried(atItem, ['@x402/fetch, tried again', 'mppx once']))('%s', async (name, expected) => {
    expect(await rehearsed(itemBuyers[name as keyof typeof itemBuyers], RUNS)).toEqual(expected)
  })
})

test('a sandbox keeps the report of what it finds, and the workbench shows it', async () => {
  const report = rehearsalReport(await rehearsal(itemBuyers['@x402/fetch once'], 10))
  expect(report.findings.length).toBeGreaterThan(0)
  const service = createService({ sandbox: true })
  onTestFinished(() => service.close())
  await service.sandbox.rehearsals.keep('items', report)
  expect(await service.sandbox.rehearsals.read('items')).toMatchObject(report)
})

describe('the price of the item rises before a call that pays', () => {
  test('and the run shows it to an agent that then pays it', async () => {
    const { findings, cells, baseline } = await rehearsal(itemAgents['pays each new price under its identifier'], RUNS)
    expect(findings.map(({ name, habit, plan }) => [name, habit, plan])).toEqual([])
    const [{ judged }] = cells.filter(({ kind }) => kind === 'price_changed') as [(typeof cells)[0]]
    const faulty = judged?.run.calls.map(({ fault, status }) => `${status}${fault ? ' raised' : ''}`)
    expect(faulty).toEqual(['402', '402 raised', '402', '200'])
    const [usual, raised] = [baseline, judged?.run].map((run) => run?.payments.map(({ amount }) => Number(amount)))
    expect(raised?.[0]).toBeGreaterThan(Number(usual?.[0]))
  })

  test('and an agent that takes a new identifier pays twice when an answer is lost', async () => {
    expect(await rehearsed(itemAgents['pays each new price under a new identifier'], RUNS)).toEqual([
      ['paid_twice', 'new_key_each_try', 'lost_after'],
      ['paid_twice', 'signs_while_pending', 'pending'],
    ])
  })
})

const atHono: Readonly<Record<keyof typeof honoBuyers, readonly (readonly string[])[]>> = {
  '@x402/fetch once': [['paid_undelivered', 'gives_up', 'lost_after']],
  '@x402/fetch, tried again': [['paid_twice', 'new_key_each_try', 'lost_after']],
  'mppx once': [['paid_undelivered', 'gives_up', 'lost_after']],
  'mppx, tried again': [['paid_twice', 'new_key_each_try', 'lost_after']],
}

describe('before a shop of @x402/hono', () => {
  beforeEach(() => {
    // It reports each failure of its facilitator.
    for (const name of ['error', 'warn'] as const) vi.spyOn(console, name).mockImplementation(() => {})
  })

  test.each(tried(atHono, ['@x402/fetch, tried again', 'mppx once', 'mppx, tried again']))(
    '%s',
    async (name, expected) => {
      expect(await rehearsed(honoBuyers[name as keyof typeof honoBuyers], HONO_RUNS)).toEqual(expected)
    },
  )
})
