import { expect, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { restoreAuthority } from '../../../src/consent/personas/spending.js'
import { createService } from '../../../src/index.js'
import { type Call, type CallOptions, caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { prepared as preparedWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, expectSoundLedger, fund, setClock, stopClock } from '../../support/scenes/market.js'
import { newAgent, newApp } from '../../support/scenes/oidc.js'
import { newDelegate, newPersona, UNKNOWN_HASH } from '../../support/scenes/personas.js'
import { balanceOf, newCommodity, newPayer, newSeller, newSession, tokenFor } from '../../support/scenes/world.js'

const POINTS = { name: 'Points', shortcode: 'PTS', decimals: 0 }

/** Who may spend is an account; whose value it is, a user with a persona; and a shop to spend it at. */
async function authority(call: Call, { cost = 0.25, balance = 5 } = {}) {
  const at = await stopClock(call)
  const shop = await newSeller(call)
  const commodity = await newCommodity(call, shop, { cost })
  const ada = await newPayer(call, shop, { balance })
  const persona = await newPersona(call, ada)
  return { at, shop, commodity, ada, persona, spender: await newSeller(call) }
}

function withAuthority<R extends Awaited<ReturnType<typeof authority>> & { call: Call }>(running: R) {
  const { call, commodity, ada, persona, spender } = running
  const { dq } = commodity
  /** A delegate, held by the shop's twin unless told, that lets the spender spend 1. */
  const allow = async (spend: object = {}, hostname = commodity.hostname): Promise<string> => {
    const given = { party: { client_id: spender.clientId }, dq, limit: 1, ...spend }
    return (await newDelegate(call, ada, { persona: persona.hash, hostname, spend: given })).hash
  }
  const spend = (persona_delegate: string | undefined, options: CallOptions = { token: spender.token }, body = {}) =>
    call('POST', `/v4/payment/${commodity.hash}`, { ...options, body: { persona_delegate, ...body } })
  const left = async () => balanceOf(call, await tokenFor(call, ada.clientId, ada.clientSecret), ada.hostname)
  return { ...running, dq, allow, spend, left }
}

const startAuthority = preparedWith(authority)

const detailOf = ({ body }: { body: { error: string } }): string =>
  body.error.slice('This delegate does not allow this payment. '.length)

contract('createPayment, by a spending authority', (start) => {
  const prepared = async (terms = {}) =>
    withAuthority(await startAuthority(start, terms, { seed: { digital_quantities: [POINTS] } }))

  for (const version of ['v4', 'v2'])
    test(`pays from the persona's twin, and from no other that is named, under /${version}`, async () => {
      const { call, shop, ada, spender, commodity, allow, left } = await prepared()
      const path = `/${version}/payment/${commodity.hash}`
      const persona_delegate = await allow()
      const other = await newPayer(call, shop)
      for (const hostname of ['nobody.twin.localhost', other.hostname]) {
        const refused = await call('POST', path, { token: spender.token, body: { persona_delegate, hostname } })
        expectProblem(refused, 403, 'not_owner')
        expect(refused.body.error).toContain(ada.hostname)
      }
      expect(await left()).toBe(5)
      const body = { persona_delegate, hostname: ada.hostname }
      const paid = await call('POST', path, { token: spender.token, body })
      expect([paid.status, paid.body.amount, paid.body.hostname]).toEqual([202, 0.25, ada.hostname])
      expect(await left()).toBe(4.75)
      const { nonce, timestamp } = paid.body
      const proof = { token: shop.token, body: { nonce, timestamp } }
      expect((await call('POST', `${path}/validate`, proof)).status).toBe(200)
      const { payments } = (await call('GET', '/v4/payments', { token: ada.token })).body
      expect(payments.map(({ id }: any) => id)).toEqual([paid.body.id])
      expect((await call('GET', '/v4/payments', { token: spender.token })).body.payments).toEqual([])
      await expectSoundLedger(call)
    })

  test("sends both sides an event with the spender, without the delegate's hash", async () => {
    const { call, shop, ada, spender, allow, spend } = await prepared()
    const delegate = await allow()
    await spend(delegate)
    for (const { token } of [shop, ada]) {
      const [event] = (await call('GET', '/v4/events?type=payment.created&limit=1', { token })).body.events
      expect(event.actor).toBe(`account:${spender.id}`)
      expect(JSON.stringify(event)).not.toContain(delegate)
    }
  })

  test('works only for the named party: an account or a user, through their client', async () => {
    const { call, shop, ada, allow, spend } = await prepared()
    const bob = await newPayer(call, shop, { balance: 1 })
    const accounts = await allow()
    const users = await allow({ party: { client_id: bob.clientId } })
    const session = await newSession(call, bob.email)
    for (const options of [{ token: bob.token }, { session }]) {
      expect((await spend(users, options)).body.hostname).toBe(ada.hostname)
      expectProblem(await spend(accounts, options), 403, 'delegate_refused')
    }
    expectProblem(await spend(users), 403, 'delegate_refused')
    expectProblem(await spend(users, { token: ada.token }), 403, 'delegate_refused')
    expect(await balanceOf(call, bob.token, bob.hostname)).toBe(1)
  })

  test('works for a named app only if it acts for one of the two sides', async () => {
    const { call, shop, ada, allow, spend } = await prepared()
    const holder = await newPayer(call, shop)
    const app = await newApp(call)
    const delegate = await allow({ party: { client_id: app.id } }, holder.hostname)
    const agentOf = async (email: string, which = app) =>
      ({ token: (await newAgent(call, { app: which, email })).accessToken }) as const
    const adas = await agentOf(ada.email)
    for (const options of [adas, await agentOf(holder.email)])
      expect((await spend(delegate, options)).body.hostname).toBe(ada.hostname)
    expectProblem(await spend(delegate, await agentOf('eve@example.test')), 403, 'delegate_refused')
    expectProblem(await spend(delegate, await agentOf(ada.email, await newApp(call))), 403, 'delegate_refused')
    expectProblem(await spend(delegate, { token: ada.token }), 403, 'delegate_refused')
    const [event] = (await call('GET', '/v4/events?type=payment.created', { token: ada.token })).body.events
    expect(event.actor).toBe(app.id)
    expectProblem(await spend(undefined, adas), 403, 'delegate_required')
  })

  test('works for pages of the account whose public_secret it names', async () => {
    const { call, spender, ada, allow, spend } = await prepared()
    const delegate = await allow({ party: { public_secret: spender.publicSecret } })
    const secret = { public_secret: spender.publicSecret }
    expect((await spend(delegate, {}, secret)).body.hostname).toBe(ada.hostname)
    const other = { public_secret: (await newSeller(call)).publicSecret }
    expectProblem(await spend(delegate, {}, other), 403, 'delegate_refused')
    expectProblem(await spend(delegate), 403, 'delegate_refused')
    expectProblem(await spend(await allow(), {}, secret), 403, 'delegate_refused')
    expectProblem(await spend(undefined, {}, secret), 403, 'delegate_required')
    const [event] = (await call('GET', '/v4/events?type=payment.created', { token: ada.token })).body.events
    expect(event.actor).toBe(`account:${spender.id}`)
  })

  test('treats the authority of others like an unknown one', async () => {
    const { call, persona, ada, commodity, allow, spend, state } = await prepared()
    const plain = await newDelegate(call, ada, { persona: persona.hash, hostname: commodity.hostname })
    const [living, revoked] = [await allow(), await allow()]
    await call('DELETE', `/v4/persona/${persona.hash}/delegates/${revoked}`, { token: ada.token })
    const eve = { token: (await newSeller(call)).token }
    const before = (await state()).rows
    const unknown = await spend(UNKNOWN_HASH)
    expectProblem(unknown, 403, 'delegate_refused')
    expect(detailOf(unknown)).toBe('The delegate is unknown, or does not let you spend.')
    expect((await spend(plain.hash)).text).toBe(unknown.text)
    for (const delegate of [living, revoked]) expect((await spend(delegate, eve)).text).toBe(unknown.text)
    expect((await state()).rows).toEqual(before)
  })

  test('refuses after it is revoked or expired', async () => {
    const { call, at, ada, persona, allow, spend, left } = await prepared()
    const [first, second] = [await allow({ expires_at: at / 1000 + 60 }), await allow()] as const
    expect((await spend(first)).status).toBe(202)
    await setClock(call, at + 59_999)
    expect((await spend(first)).status).toBe(202)
    await setClock(call, at + 60_000)
    const expired = await spend(first)
    expectProblem(expired, 403, 'delegate_refused')
    expect(detailOf(expired)).toBe('The spending authority has expired.')
    await call('DELETE', `/v4/persona/${persona.hash}/delegates/${second}`, { token: ada.token })
    const revoked = await spend(second)
    expectProblem(revoked, 403, 'delegate_refused')
    expect(detailOf(revoked)).toBe('The delegate was revoked.')
    expect(await left()).toBe(4.5)
  })

  test('refuses any other digital quantity', async () => {
    const { call, ada, allow, spend } = await prepared()
    const [, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    await fund(call, ada.hostname, 10, points)
    const refused = await spend(await allow({ dq: points, limit: 10 }))
    expectProblem(refused, 403, 'delegate_refused')
    expect(detailOf(refused)).toBe('The spending authority is for a different digital quantity.')
  })

  test('without a period, spends its limit once', async () => {
    const { call, state, spender, allow, spend } = await prepared()
    const delegate = await allow({ limit: 0.6 })
    for (let n = 0; n < 2; n++) expect((await spend(delegate)).status).toBe(202)
    await advance(call, '40d')
    const token = await tokenFor(call, spender.clientId, spender.clientSecret)
    const refused = await spend(delegate, { token })
    expectProblem(refused, 403, 'delegate_refused')
    expect(detailOf(refused)).toBe('The spending authority has 0.10 USD left.')
    expect((await state()).rows.delegate_spendings).toHaveLength(1)
  })

  for (const [period, from, until] of [
    ['day', Date.UTC(2031, 4, 1, 0), Date.UTC(2031, 4, 2, 0)],
    ['month', Date.UTC(2031, 4, 1, 0), Date.UTC(2031, 5, 1, 0)],
  ] as const)
    test(`counts a ${period} of the calendar in UTC by the service's clock`, async () => {
      const { call, state, spender, allow, spend, left } = await prepared()
      const delegate = await allow({ limit: 0.5, period })
      const spendAt = async (at: number) => {
        await setClock(call, at)
        return spend(delegate, { token: await tokenFor(call, spender.clientId, spender.clientSecret) })
      }
      expect((await spendAt(from)).status).toBe(202)
      expect((await spendAt(until - 1)).status).toBe(202)
      const refused = await spendAt(until - 1)
      expectProblem(refused, 403, 'delegate_refused')
      expect(detailOf(refused)).toBe(`The spending authority has 0.00 USD left for this ${period}.`)
      expect((await spendAt(until)).status).toBe(202)
      expect((await spendAt(until)).status).toBe(202)
      expectProblem(await spendAt(until), 403, 'delegate_refused')
      expect((await spendAt(from - 1)).status).toBe(202)
      expect(await left()).toBe(3.75)
      // What was spent in a period is removed when the period is long over.
      expect((await state()).rows.delegate_spendings).toHaveLength(3)
      await advance(call, '100d')
      expect((await state()).rows.delegate_spendings ?? []).toEqual([])
    })

  test('spends nothing on free commodities, or if the twin is short of funds', async () => {
    const { call, shop, ada, spender, commodity, allow, spend } = await prepared({ balance: 0.25 })
    const delegate = await allow({ limit: 0.5 })
    const free = { descriptor: 'FREE', dq: commodity.dq, cost: 0, twin_id: commodity.twinId }
    const { hash } = (await call('POST', '/v4/commodity', { token: shop.token, body: free })).body
    const sent = { token: spender.token, body: { persona_delegate: delegate } }
    const paid = await call('POST', `/v4/payment/${hash}`, sent)
    expect([paid.status, paid.body.hostname]).toEqual([202, ada.hostname])
    expect((await spend(delegate)).status).toBe(202)
    expectProblem(await spend(delegate), 402, 'insufficient_funds')
    await fund(call, ada.hostname, 1)
    expect((await spend(delegate)).status).toBe(202)
    expectProblem(await spend(delegate), 403, 'delegate_refused')
  })

  test('stays within its limit in 30 payments at once', async () => {
    const { call, allow, spend, left } = await prepared({ cost: 0.1 })
    const delegate = await allow({ limit: 1, period: 'day' })
    const answers = await Promise.all(Array.from({ length: 30 }, () => spend(delegate)))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(10)
    expect(answers.filter(({ body }) => body.code === 'delegate_refused')).toHaveLength(20)
    expect(await left()).toBe(4)
    expect((await expectSoundLedger(call)).movements).toBe(11)
  })

  test('pays once with one Idempotency-Key, which belongs to one party', async () => {
    const { call, ada, spender, allow, spend, left } = await prepared()
    const app = await newApp(call)
    const { accessToken } = await newAgent(call, { app, email: ada.email })
    const headers = { 'idempotency-key': 'k' }
    const pages = [spender.publicSecret, (await newSeller(call)).publicSecret]
    const delegates = [
      await allow({ party: { client_id: app.id } }),
      await allow({ party: { public_secret: pages[0] } }),
      await allow({ party: { public_secret: pages[1] } }),
    ]
    const first = await spend(delegates[0], { token: accessToken, headers })
    const again = await spend(delegates[0], { token: accessToken, headers })
    expect([first.status, again.text]).toEqual([202, first.text])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const body = { persona_delegate: delegates[0] }
    const own = await call('POST', `/v4/payment/${first.body.hash}`, { token: ada.token, headers, body })
    expectProblem(own, 403, 'delegate_refused')
    for (const at of [0, 1]) {
      const paid = await spend(delegates[at + 1], { headers }, { public_secret: pages[at] })
      expect([paid.status, paid.headers.get('idempotent-replayed')]).toEqual([202, null])
    }
    expect(await left()).toBe(4.25)
  })

  test('keeps the spent amount in a snapshot', async () => {
    const { call, allow, spend } = await prepared()
    const delegate = await allow({ limit: 0.5 })
    await spend(delegate)
    const snapshot = (await call('GET', '/_sandbox/snapshot')).body
    await spend(delegate)
    expectProblem(await spend(delegate), 403, 'delegate_refused')
    expect((await call('PUT', '/_sandbox/snapshot', { body: snapshot })).status).toBe(204)
    expect((await spend(delegate)).status).toBe(202)
    expectProblem(await spend(delegate), 403, 'delegate_refused')
  })

  test('does not work for a page session: 403 wrong_principal', async () => {
    const { call, ada, commodity, allow, spend } = await prepared()
    const session = await newSession(call, ada.email)
    const made = { hash: commodity.hash, origin: 'https://shop.example.test' }
    const page = (await call('POST', '/v4/session/page', { session, body: made })).body.session_id
    expectProblem(await spend(await allow(), { session: page }), 403, 'wrong_principal')
  })
})

test('restoreAuthority frees an amount for the period in which it was spent, and never more than was counted', async () => {
  const storage = memoryStorage()
  const service = createService({ sandbox: true, storage })
  const running = { call: caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch }) }
  const { call, at, spender, dq, allow, spend } = await withAuthority({
    ...running,
    ...(await authority(running.call)),
  })
  const [daily, whole] = [await allow({ limit: 0.5, period: 'day' }), await allow({ limit: 0.5 })]
  const unspent = await allow()
  const token = async () => ({ token: await tokenFor(call, spender.clientId, spender.clientSecret) })
  const statuses = async (delegate: string, count: number) => {
    const found = []
    for (let n = 0; n < count; n++) found.push((await spend(delegate, await token())).status)
    return found
  }
  expect(await statuses(daily, 3)).toEqual([202, 202, 403])
  expect(await statuses(whole, 3)).toEqual([202, 202, 403])
  const amount = 250n
  await setClock(call, at + 86_400_000)
  expect(await statuses(daily, 1)).toEqual([202])
  const restore = (delegate: string, spent: object = {}) =>
    storage.write((tx) => restoreAuthority(tx, { delegate, dq, amount, at, ...spent }))
  for (const delegate of [daily, whole]) await restore(delegate)
  expect(await statuses(daily, 2)).toEqual([202, 403])
  expect(await statuses(whole, 2)).toEqual([202, 403])
  await setClock(call, at)
  expect(await statuses(daily, 2)).toEqual([202, 403])
  for (const delegate of [daily, whole]) {
    await expect(restore(delegate, { amount: 501n })).rejects.toThrow('would be -1')
    await expect(restore(delegate, { dq: UNKNOWN_HASH })).rejects.toThrow('did not spend this digital quantity')
  }
  await expect(restore(UNKNOWN_HASH)).rejects.toThrow('has no row')
  await expect(restore(unspent)).rejects.toThrow('has spent nothing')
  await service.close()
})
