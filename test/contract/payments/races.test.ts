import { expect, test } from 'vitest'
import type { Answer, Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { balancesOf, expectSoundLedger, pay } from '../../support/scenes/market.js'
import {
  balanceOf,
  basic,
  defaultDq,
  newCommodity,
  newPayer,
  newSeller,
  newTwin,
  type Payer,
  type Seller,
} from '../../support/scenes/world.js'

/** The same call many times, all on their way before the first answer is looked at. */
const atOnce = (count: number, send: (n: number) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => send(n)))

/** How often each status, and code where it is refused, was answered. */
function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const outcome = body?.code ? `${status} ${body.code}` : `${status}`
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

const succeeded = (answers: Answer[]): Answer => answers.find(({ status }) => status < 300) as Answer

async function mailedCode(call: Call, session: string, email: string): Promise<string> {
  await call('POST', '/v4/session/code', { session, body: { email } })
  const path = `/_sandbox/outbox?to=${encodeURIComponent(email)}&limit=1`
  return (await call('GET', path)).body.messages[0].codes[0]
}

contract('At the same moment', (start) => {
  test('50 of 200 payments succeed from a twin that affords 50', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller, { balance: 5 })
    const commodity = await newCommodity(call, seller, { cost: 0.1 })
    const answers = await atOnce(200, () => call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token }))
    expect(tally(answers)).toEqual({ '202': 50, '402 insufficient_funds': 150 })
    expect(new Set(answers.map(({ body }) => body.nonce)).size).toBe(51)
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(0)
    expect(await balanceOf(call, seller.token, commodity.hostname)).toBe(5)
    const { movements, digital_quantities } = await expectSoundLedger(call)
    expect(movements).toBe(51)
    expect(digital_quantities[0]).toMatchObject({ issued: 5, balances: 5, held: 0 })
    const { body } = await call('GET', '/v4/payments?limit=100', { token: payer.token })
    expect([body.payments.length, body.next]).toEqual([50, null])
  })

  test('payments of many payers to many sellers neither lose nor create value', async () => {
    const { call } = await start()
    const sellers = [await newSeller(call), await newSeller(call), await newSeller(call)] as const
    const payers: Payer[] = []
    for (let n = 0; n < 5; n++) payers.push(await newPayer(call, sellers[0], { balance: 1 }))
    const offers: (Awaited<ReturnType<typeof newCommodity>> & { seller: Seller })[] = []
    for (const seller of sellers) offers.push({ seller, ...(await newCommodity(call, seller, { cost: 0.3 })) })
    const answers = await atOnce(75, (n) => {
      const [payer, offer] = [payers[n % 5] as Payer, offers[n % 3] as (typeof offers)[0]]
      return call('POST', `/v4/payment/${offer.hash}`, { token: payer.token })
    })
    expect(tally(answers)).toEqual({ '202': 15, '402 insufficient_funds': 60 })
    for (const { token, hostname } of payers) expect(await balanceOf(call, token, hostname)).toBe(0.1)
    const taken = await Promise.all(offers.map(({ seller, hostname }) => balanceOf(call, seller.token, hostname)))
    expect(Math.round(taken.reduce((sum, amount) => sum + amount * 1000, 0))).toBe(4500)
    expect((await expectSoundLedger(call)).digital_quantities[0]).toMatchObject({ issued: 5, balances: 5 })
  })

  test('one Idempotency-Key used by 20 is one payment, and 20 equal answers', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller, { balance: 5 })
    const { hash, dq } = await newCommodity(call, seller, { cost: 0.25 })
    const headers = { 'idempotency-key': 'one order' }
    const answers = await atOnce(20, () => call('POST', `/v4/payment/${hash}`, { token: payer.token, headers }))
    expect(tally(answers)).toEqual({ '202': 20 })
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')).toHaveLength(19)
    expect(await balancesOf(call, payer.token, payer.hostname)).toEqual({ [dq]: 4.75 })
    expect((await expectSoundLedger(call)).movements).toBe(2)
  })

  test('one nonce validated by 20 is spent by one', { tags: 'everywhere' }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const commodity = await newCommodity(call, seller)
    const { nonce, timestamp } = await pay(call, await newPayer(call, seller, { balance: 1 }), commodity)
    const sent = { token: seller.token, body: { nonce, timestamp } }
    const answers = await atOnce(20, (n) =>
      call('POST', `/${n % 2 ? 'v2' : 'v4'}/payment/${commodity.hash}/validate`, sent),
    )
    expect(tally(answers)).toEqual({ '200': 1, '400 nonce_used': 19 })
  })

  test('one twin nonce verified by 20 is used up by one', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const { hostname } = await newTwin(call, token)
    const { nonce } = (await call('POST', '/v2/twin/nonce', { token, body: { hostname } })).body
    const answers = await atOnce(20, () => call('PUT', '/v2/twin/nonce', { token, body: { hostname, nonce } }))
    expect(tally(answers)).toEqual({ '200': 1, '400 twin_nonce_refused': 19 })
  })

  test('one refresh token used by 20 is exchanged by one', async () => {
    const {
      call,
      made: { clientId, clientSecret },
    } = await startWith(start, newSeller)
    const pair = (await call('POST', '/v4/account/oauth/token', { headers: basic(clientId, clientSecret) })).body
    const answers = await atOnce(20, () => call('POST', '/v4/account/oauth/token', { token: pair.refresh_token }))
    expect(tally(answers)).toEqual({ '200': 1, '401 refresh_token_invalid': 19 })
    const { access_token, refresh_token } = succeeded(answers).body
    expect((await call('GET', '/v4/account', { token: access_token })).status).toBe(200)
    expect((await call('POST', '/v4/account/oauth/token', { token: refresh_token })).status).toBe(200)
  })

  test('client credentials sent by 20 get one token pair', async () => {
    const { call } = await start()
    const { body } = await call('POST', '/v4/account')
    const headers = basic(body.secrets[1].client_id, body.secrets[1].client_secret)
    const answers = await atOnce(20, () => call('POST', '/v2/account/oauth/token', { headers }))
    expect(tally(answers)).toEqual({ '200': 20 })
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  test('one sign-in code verified by 20 signs one in', async () => {
    const { call, state } = await start()
    const email = 'ada@example.test'
    const session = (await call('GET', '/v4/session')).body.session_id
    const code = await mailedCode(call, session, email)
    const answers = await atOnce(20, () => call('POST', '/v4/session/verify', { session, body: { email, code } }))
    expect(tally(answers)).toEqual({ '200': 1, '410 code_expired': 19 })
    const { rows } = await state()
    expect([rows.users, rows.sessions].map((list) => list?.length)).toEqual([1, 1])
    const signedIn = await call('GET', '/v4/session', { session: succeeded(answers).body.session_id })
    expect(signedIn.body.user.email).toBe(email)
  })

  test('five guessed codes of 20 are tried, however fast they come', async () => {
    const { call } = await start()
    const email = 'ada+code123456@example.test'
    const session = (await call('GET', '/v4/session')).body.session_id
    await mailedCode(call, session, email)
    const verify = (code: string) => call('POST', '/v4/session/verify', { session, body: { email, code } })
    expect(tally(await atOnce(20, (n) => verify(`00000${n}`.slice(-6))))).toEqual({
      '401 code_wrong': 5,
      '429 too_many_tries': 15,
    })
    expect(tally([await verify('123456')])).toEqual({ '429 too_many_tries': 1 })
  })

  test('one email signing up in five sessions is one user, signed in five times', async () => {
    const { call, state } = await start()
    const email = 'ada@example.test'
    const tries = []
    for (let n = 0; n < 5; n++) {
      const session = (await call('GET', '/v4/session')).body.session_id
      tries.push({ session, code: await mailedCode(call, session, email) })
    }
    const answers = await Promise.all(
      tries.map(({ session, code }) => call('POST', '/v4/session/verify', { session, body: { email, code } })),
    )
    expect(tally(answers)).toEqual({ '200': 5 })
    expect(new Set(answers.map(({ body }) => body.user.id)).size).toBe(1)
    const { rows } = await state()
    expect([rows.users, rows.sessions].map((list) => list?.length)).toEqual([1, 5])
  })

  test('one of 20 registrations with one email succeeds, and the others leave nothing behind', async () => {
    const { call, state } = await start()
    const dq = await defaultDq(call)
    const count = async () => {
      const { rows } = await state()
      return Object.fromEntries(Object.entries(rows).map(([name, list]) => [name, list.length]))
    }
    const before = await count()
    const body = { dq, email: 'ada@example.test' }
    const answers = await atOnce(20, () => call('POST', '/v4/account/register', { body }))
    expect(tally(answers)).toEqual({ '201': 1, '409 email_taken': 19 })
    expect(await count()).toEqual({
      ...before,
      accounts: 1,
      users: 1,
      memberships: 1,
      events: 1,
      clients: 1,
      twins: (before.twins ?? 0) + 2,
      balances: (before.balances ?? 0) + 2,
    })
    const [, { client_id, client_secret }] = succeeded(answers).body.account.secrets
    const token = (await call('POST', '/v4/account/oauth/token', { headers: basic(client_id, client_secret) })).body
    const { twins } = (await call('GET', '/v4/twins', { token: token.access_token })).body
    expect(twins.map(({ id }: any) => id)).toEqual([succeeded(answers).body.twin.id])
  })
})
