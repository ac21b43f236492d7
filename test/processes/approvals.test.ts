import { describe, expect, test } from 'vitest'
import { type Call, caller } from '../support/api.js'
import type { Start } from '../support/contract/contract.js'
import { connect, done, modern, send as sendMessage } from '../support/mcp/mcp.js'
import { answerApproval, heldBy, newAgentShop, requestApproval } from '../support/scenes/approvals.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { newProcesses, type TestProcess } from '../support/scenes/processes.js'
import { answerLink, mailedLink, secondFactorEvents } from '../support/scenes/second-factor.js'
import { newSender, send, walletOf } from '../support/scenes/transfers.js'
import { newPayer, newSession } from '../support/scenes/world.js'

/** A call that waits at one process, while the answer comes to another one. */

/** How long a call of an agent waits for its user. */
const ROUND_MS = 20_000
const LEADS = { elicitation: { url: {} } }
const upstream = { fetch: async () => Response.json({ warm: true }) }
const OSLO = { city: 'Oslo' }

const idIn = (url: string) => url.slice(url.lastIndexOf('/') + 1)

/** Calls a process, and lets no time pass. */
const at = ({ service }: TestProcess): Call => caller({ url: service.baseUrl, fetch: service.fetch })

/** A process as scenes of one service take it. */
const startedAs =
  ({ storage }: ReturnType<typeof newProcesses>, { service, call }: TestProcess): Start =>
  async () => ({
    ...{ call, url: service.baseUrl, fetch: service.fetch },
    state: () => storage.export(),
    close: async () => {},
  })

describe.each([{ hints: true }, { hints: false }])('an answer at another process (hints: $hints)', ({ hints }) => {
  /** Two processes, which say when a call of an agent begins to wait. */
  async function starting() {
    const world = newProcesses({ hints })
    const { time } = world
    let waits = 0
    const alarmOf = () => {
      const alarm = time.alarmFor(() => true)
      return {
        set(ms: number, ring: () => void) {
          if (ms === ROUND_MS) waits++
          return alarm.set(ms, ring)
        },
      }
    }
    const a = await world.start({ alarm: alarmOf(), upstream })
    const b = await world.start({ alarm: alarmOf(), upstream })
    return {
      ...{ ...world, a, b },
      /** Begins a call, and resolves when it waits. */
      async begin<T>(call: () => Promise<T>): Promise<{ readonly answer: Promise<T> }> {
        const before = waits
        const answer = call()
        await time.until(() => waits > before)
        return { answer }
      },
      /** With hints, no time passes until it arrives. */
      arrived: <T>(promise: Promise<T>): Promise<T> => (hints ? promise : time.during(promise)),
    }
  }

  /** The same with a user's agent, who calls by the rules of 2026-07-28. */
  async function shopping() {
    const world = await starting()
    const { a, b } = world
    const shop = await newAgentShop(startedAs(world, a))
    const order = { name: 'agent_checkout', arguments: { catalog_item_id: shop.item.id, arguments: OSLO } }
    const round = async (process: TestProcess, more: object = {}): Promise<any> => {
      const { headers, message } = modern('tools/call', { ...order, ...more }, LEADS)
      return (await sendMessage(at(process), message, { token: shop.agent.token, headers })).body.result
    }
    /** Asks the user at a, and waits for them at b. */
    const waiting = async (process: TestProcess) => {
      const { requestState, inputRequests } = await world.time.during(round(a))
      const inputResponses = { approval: { action: 'accept' } }
      const { answer } = await world.begin(() => round(process, { requestState, inputResponses }))
      return { answer, id: idIn(inputRequests.approval.params.url) }
    }
    return { ...world, ...shop, a, b, order, round, waiting }
  }

  test('goes on with the call of an agent that waits, at whichever process it waits', async () => {
    const { a, b, payer, waiting, arrived, ...shop } = await shopping()
    const here = await waiting(a)
    await answerApproval(at(b), payer, here.id)
    expect(await arrived(here.answer)).toMatchObject({ structuredContent: { status: 'paid' } })
    const there = await waiting(b)
    await answerApproval(at(a), payer, there.id, 'reject')
    expect(await arrived(there.answer)).toMatchObject({
      isError: true,
      structuredContent: { code: 'approval_not_given', approval_status: 'rejected' },
    })
    expect(await heldBy(b.call, { payer, ...shop })).toEqual([9.75, 10])
    await expectSoundLedger(a.call)
  })

  test('of an app that is disconnected ends its call, and nothing is paid', async () => {
    const { a, b, payer, waiting, arrived, ...shop } = await shopping()
    const { answer } = await waiting(a)
    const [{ id }] = (await b.call('GET', '/v4/connections', payer)).body.connections
    await at(b)('DELETE', `/v4/connections/${id}`, payer)
    expect(await arrived(answer)).toMatchObject({ isError: true, structuredContent: { code: 'token_invalid' } })
    expect(await heldBy(b.call, { payer, ...shop })).toEqual([10, 10])
  })

  test('a client of 2025-11-25 whose requests go to the processes in turn is led, waits, and pays once', async () => {
    const { a, b, payer, agent, order, begin, arrived, time, ...shop } = await shopping()
    const completed: string[] = []
    const own = [a, b]
    let requests = 0
    const fetch = (request: Request) => (own[requests++ % 2] as TestProcess).service.fetch(request)
    const options = {
      token: agent.token,
      era: '2025-11-25',
      elicit: async () => ({ action: 'accept' as const }),
    } as const
    const client = await time.during(connect({ url: a.service.baseUrl, fetch }, options))
    client.setNotificationHandler('notifications/elicitation/complete', ({ params }) => {
      completed.push(params.elicitationId)
    })
    const led = await time.during(client.callTool(order).catch((error: unknown) => error))
    const { elicitationId } = (led as any).data.elicitations[0]
    const before = requests
    const { answer } = await begin(() => done(client, order.name, order.arguments))
    const waitsAt = own[before % 2]
    await answerApproval(at(waitsAt === a ? b : a), payer, elicitationId)
    expect([(await arrived(answer)).status, completed]).toEqual(['paid', [elicitationId]])
    expect(await heldBy(b.call, { payer, ...shop })).toEqual([9.75, 10])
    await time.during(client.close())
  })

  test('`approvals.next` gives what an agent asks for at another process', async () => {
    const { a, b, payer, agent, item, time, arrived } = await shopping()
    const next = b.service.sandbox.approvals.next({ email: payer.email }).approve()
    const wish = { kind: 'purchase', catalog_item_id: item.id, arguments: OSLO }
    const asked = await requestApproval(at(a), agent, wish)
    expect(await arrived(next)).toMatchObject({ approval_id: asked.body.approval_id, status: 'approved' })
    await time.pass(0)
  })

  /** A user who sends 2.5 at a, and waits there until they confirm it. */
  async function sending() {
    const world = await starting()
    const { a, time } = world
    const { payer, seller } = await newSender(startedAs(world, a))
    const payee = await newPayer(a.call, seller)
    const session = await newSession(a.call, payer.email)
    const order = { address: payee.hostname, amount: 2.5, memo: 'For lunch' }
    const headers = { 'idempotency-key': 'lunch' }
    const sent = (process: TestProcess) => send(at(process), { session, headers }, order)
    const asked = (times = 1) =>
      time.until(async () => {
        const events = await secondFactorEvents(at(world.b), payer.token)
        return events.filter(([type]) => type === 'requested').length === times
      })
    const answer = sent(a)
    await asked()
    return { ...world, payer, answer, sent, asked }
  }

  test('confirms the transfer that waits for a second factor', async () => {
    const { b, payer, answer, arrived, sent, asked } = await sending()
    await answerLink(at(b), await mailedLink(b.call, payer.email))
    expect((await arrived(answer)).status).toBe(201)
    expect(await walletOf(b.call, payer)).toBe(7.5)
    const again = await sent(b)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    await asked()
    expect(await walletOf(b.call, payer)).toBe(7.5)
  })

  test('rejects the transfer that waits for a second factor', async () => {
    const { b, payer, answer, arrived } = await sending()
    await answerLink(at(b), await mailedLink(b.call, payer.email), 'reject')
    expectProblem(await arrived(answer), 403, 'rejected')
    expect(await walletOf(b.call, payer)).toBe(10)
  })

  test('comes too late for a process that was killed, and the call with its key asks again and pays once', async () => {
    const { a, b, payer, time, sent, asked } = await sending()
    a.kill()
    await answerLink(b.call, await mailedLink(b.call, payer.email))
    await time.pass(15_000)
    expect(await walletOf(b.call, payer)).toBe(10)
    const again = sent(b)
    await asked(2)
    await answerLink(at(b), await mailedLink(b.call, payer.email))
    expect((await time.during(again)).status).toBe(201)
    expect(await walletOf(b.call, payer)).toBe(7.5)
    await expectSoundLedger(b.call)
  })
})
