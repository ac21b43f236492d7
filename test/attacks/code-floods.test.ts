import { afterEach, describe, expect, it } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { once } from '../../src/base/memo.js'
import { createService, type Mail, type Service } from '../../src/index.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { newOwnAccount, pathOf } from '../support/scenes/account-changes.js'
import { anotherAgent } from '../support/scenes/approvals.js'
import { newCheckout, newItem } from '../support/scenes/checkout.js'
import { advance, expectProblem, stopClock } from '../support/scenes/market.js'
import { newApp, startInteraction } from '../support/scenes/oidc.js'
import { askCode, mailedCode, newGuest, verify } from '../support/scenes/sign-in.js'
import { inviteByMail } from '../support/scenes/transfers.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

/** What one caller mails to strangers by asking for sign-in codes. */

const MOST = 50
const [ONE, OTHER] = ['8.8.8.8', '9.9.9.9']

const open: Service[] = []
afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

function start(options: Parameters<typeof createService>[0] = {}) {
  const service = createService({ sandbox: true, log: { error: () => {} }, ...options })
  open.push(service)
  const from = (peerAddress: string): Call =>
    caller({ url: service.baseUrl, fetch: (request) => service.respond(request, { peerAddress }) })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  return { service, call, from }
}

/** Asks for a code for the nth of many addresses. */
const askFor = async (call: Call, n: number): Promise<Answer> =>
  askCode(call, await newGuest(call), `stranger-${n}@many-${n}.example.test`)

async function flood(call: Call, count: number): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let n = 0; n < count; n++) answers.push(await askFor(call, n))
  return answers
}

/** For each operation that mails a code: one that anybody can ask for, from the address of `call`. */
const asks: Record<string, (world: Call) => Promise<(call: Call) => Promise<Answer>>> = {
  sendSessionCode: async () => async (call) => askFor(call, 1000),
  async answerInteraction(world) {
    const path = await startInteraction(world, await newApp(world))
    return (call) => fillIn(call, path)
  },
  async answerCheckout(world) {
    const seller = await newSeller(world)
    const item = await newItem(world, seller, 'https://api.example.test/story')
    const { token } = await newCheckout(world, { seller, item })
    return (call) => fillIn(call, `/checkout/${token}`)
  },
  async answerInvitation(world) {
    const { path } = await inviteByMail(world, await newPayer(world, await newSeller(world), { balance: 10 }))
    return (call) => fillIn(call, path)
  },
  async answerApproval(world) {
    const seller = await newSeller(world)
    const item = await newItem(world, seller, 'https://api.example.test/story')
    const payer = await newPayer(world, seller, { balance: 10 })
    const wish = { kind: 'purchase', catalog_item_id: item.id, arguments: { topic: 'rain' } }
    const asked = await world('POST', '/v4/agent/approvals', { ...(await anotherAgent(world, payer)), body: wish })
    return (call) => fillIn(call, `/approvals/${asked.body.approval_id}`)
  },
  async answerAccountChoice(world) {
    const email = 'grace@example.test'
    await newOwnAccount(world, email)
    const offered = await world('POST', '/v4/agent/account-choice', await anotherAgent(world, { email }))
    return (call) => fillIn(call, pathOf(offered.body.url))
  },
}

const fillIn = async (call: Call, path: string): Promise<Answer> =>
  call('POST', path, { session: await newGuest(call), form: { answer: 'continue', email: 'someone@example.test' } })

describe('codes that one network asks for', () => {
  it('are fifty unused ones in a quarter of an hour, for however many addresses', async () => {
    const { call, from } = start()
    await stopClock(call)
    const answers = await flood(from(ONE), MOST + 3)
    expect(answers.map(({ status }) => status)).toEqual([...Array(MOST).fill(202), 429, 429, 429])
    expectProblem(answers[MOST] as Answer, 429, 'too_many_codes')
    expect(answers[MOST]?.headers.get('retry-after')).toBe('900')
    expect((await askFor(from(OTHER), 0)).status).toBe(202)
    await advance(call, '15m')
    expect((await askFor(from(ONE), 0)).status).toBe(202)
  })

  it('are counted for all addresses of an IPv6 network', async () => {
    const { from } = start()
    for (let n = 0; n < MOST; n++) expect((await askFor(from(`2606:4700::${n + 1}`), n)).status).toBe(202)
    expectProblem(await askFor(from('2606:4700::ffff'), MOST), 429, 'too_many_codes')
    expect((await askFor(from('2606:4700:0:1::1'), MOST)).status).toBe(202)
  })

  it('are not counted behind a private address, nor once someone has signed in with them', async () => {
    const { call, from } = start()
    const answers = await flood(from('10.0.0.7'), MOST + 1)
    expect(answers.every(({ status }) => status === 202)).toBe(true)
    for (let n = 0; n <= MOST; n++) {
      const [guest, email] = [await newGuest(call), `reader-${n}@example.test`]
      expect((await askCode(from(ONE), guest, email)).status).toBe(202)
      expect((await verify(from(ONE), guest, email, await mailedCode(call, email))).status).toBe(200)
    }
  })

  it('stop nobody there who has signed in by a code before', async () => {
    const { call, from } = start()
    const [guest, email] = [await newGuest(call), 'ada@example.test']
    await askCode(call, guest, email)
    const { session_id } = (await verify(call, guest, email, await mailedCode(call, email))).body
    await flood(from(ONE), MOST)
    expectProblem(await askFor(from(ONE), MOST), 429, 'too_many_codes')
    expect((await askCode(from(ONE), session_id, email)).status).toBe(202)
  })

  it('are known for every operation that mails one', () => {
    const mailing = routeList.filter(({ errors }) => errors?.includes('too_many_codes'))
    expect(Object.keys(asks).sort()).toEqual(mailing.map(({ id }) => id).sort())
  })

  /** A state in which one network has asked for all that it may. */
  const flooded = once(async () => {
    const { service, from } = start()
    await flood(from(ONE), MOST)
    return service.sandbox.snapshot()
  })

  it.each(Object.entries(asks))('are limited at %s', async (_, prepare) => {
    const { service, call, from } = start()
    await service.sandbox.restore(await flooded())
    const ask = await prepare(call)
    expectProblem(await ask(from(ONE)), 429, 'too_many_codes')
    expect((await ask(from(OTHER))).status).toBeLessThan(400)
  })
})

it('a network whose mails hang leaves the places of deliveries to others', async () => {
  const begun: Mail[] = []
  const send = (mail: Mail) => {
    begun.push(mail)
    return new Promise<void>(() => {})
  }
  const { from } = start({ sandbox: false, mailer: { send }, encryptionKey: '0f'.repeat(32), limits: { closeMs: 50 } })
  await flood(from(ONE), MOST)
  await expect.poll(() => begun.length).toBeGreaterThan(0)
  const other = await newGuest(from(OTHER))
  await askCode(from(OTHER), other, 'ada@example.test')
  await expect.poll(() => begun.map(({ to }) => to)).toContain('ada@example.test')
  expect(begun.length).toBeLessThan(MOST)
})
