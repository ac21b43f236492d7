import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { createService } from '../../src/index.js'
import { type Answer, type Call, type CallOptions, caller } from '../support/api.js'
import { expectProblem, expectSoundLedger, fund } from '../support/scenes/market.js'
import { newMarket, newPage, ORIGIN, paywall, setPhone } from '../support/scenes/paywall.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { answerLink, mailedLink } from '../support/scenes/second-factor.js'
import { useUpstream } from '../support/scenes/upstream.js'
import {
  balanceOf,
  defaultDq,
  newCommodity,
  newPayer,
  newSeller,
  newSession,
  newTwin,
} from '../support/scenes/world.js'

const upstream = useUpstream()
const service = createService({ sandbox: true })
const call: Call = caller({ url: service.baseUrl, fetch: service.fetch })
afterAll(() => service.close())

const isReplay = ({ headers }: Answer): boolean => headers.get('idempotent-replayed') === 'true'

const keyed = (options: CallOptions, key: string): CallOptions => ({
  ...options,
  headers: { ...options.headers, 'idempotency-key': key },
})

describe('the owner of an Idempotency-Key', () => {
  it('a page cannot read the answer to its user', async () => {
    const market = await newMarket(call)
    const page = await newPage(call, market, 'reject')
    const order = { amount: 0.5, destination: market.shop, serviceUrl: `${upstream.url}/ok` }
    const own = await paywall(call, keyed({ token: market.payer.token }, 'k'), order)
    expect(own.status).toBe(200)
    const stolen = await paywall(call, keyed(page, 'k'), order)
    expectProblem(stolen, 403, 'rejected')
  })

  it('a user cannot read the answer to a page', async () => {
    const market = await newMarket(call)
    const page = await newPage(call, market, 'approve')
    const order = { amount: 0.5, destination: market.shop }
    const first = await paywall(call, keyed(page, 'k'), order)
    expect([first.status, isReplay(await paywall(call, keyed(page, 'k'), order))]).toEqual([200, true])
    const own = await paywall(call, keyed({ token: market.payer.token }, 'k'), order)
    expect([own.status, isReplay(own)]).toEqual([200, false])
  })

  it('a page of another origin or account cannot read the answer to a page', async () => {
    const market = await newMarket(call)
    const page = await newPage(call, market, 'approve')
    const order = { amount: 0.5, destination: market.shop }
    expect((await paywall(call, keyed(page, 'k'), order)).status).toBe(200)
    await setPhone(call, market.payer, 'reject')
    const { hash } = await newCommodity(call, await newSeller(call))
    const session = await newSession(call, market.payer.email)
    for (const [of, origin] of [
      [market.hash, 'https://elsewhere.example.test'],
      [hash, ORIGIN],
    ] as const) {
      const made = await call('POST', '/v4/session/page', { session, body: { hash: of, origin } })
      const other = { session: made.body.session_id, headers: { origin } }
      expectProblem(await paywall(call, keyed(other, 'k'), order), 403, 'rejected')
    }
  })

  it('the public secret does not show what a delegate bought', async () => {
    const { hash, payer, seller } = await newMarket(call)
    const { hash: persona, hostname } = await newPersona(call, payer)
    const spend = { party: { public_secret: seller.publicSecret }, dq: await defaultDq(call), limit: 5 }
    const delegate = await newDelegate(call, payer, { persona, hostname, spend })
    const body = { public_secret: seller.publicSecret, persona_delegate: delegate.hash }
    const first = await call('POST', `/v4/payment/${hash}`, { ...keyed({}, 'k'), body })
    expect(first.status).toBe(202)
    for (const guessed of [undefined, persona, `41${'0'.repeat(64)}`]) {
      const other = await call('POST', `/v4/payment/${hash}`, {
        ...keyed({}, 'k'),
        body: { ...body, persona_delegate: guessed },
      })
      // Nor is it told that the key is taken.
      expectProblem(other, 403, guessed === undefined ? 'delegate_required' : 'delegate_refused')
    }
    expect(isReplay(await call('POST', `/v4/payment/${hash}`, { ...keyed({}, 'k'), body }))).toBe(true)
  })

  it('a guessable key does not give away an account', async () => {
    const guessable = [
      await call('POST', '/v4/account', keyed({}, '1')),
      await call('POST', '/v4/account', keyed({}, '1')),
    ]
    expect(new Set(guessable.map(({ body }) => body.id)).size).toBe(2)
    const key = randomUUID()
    const made = await call('POST', '/v4/account', keyed({}, key))
    const again = await call('POST', '/v4/account', keyed({}, key))
    expect([again.text, isReplay(again)]).toEqual([made.text, true])
  })

  it('a guest cannot read the answer to another guest', async () => {
    const carts = []
    for (let guest = 0; guest < 2; guest++) {
      const session = (await call('GET', '/v4/session')).body.session_id
      carts.push(await call('POST', '/v4/carts', keyed({ session }, 'k')))
    }
    expect(carts.map(isReplay)).toEqual([false, false])
    expect(new Set(carts.map(({ body }) => body.id)).size).toBe(2)
  })

  it("a guest's old session id does not read answers from after the sign-in", async () => {
    const { hash, payer } = await newMarket(call)
    const before = (await call('GET', '/v4/session')).body.session_id
    await call('POST', '/v4/session/code', { session: before, body: { email: payer.email } })
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${payer.email}&limit=1`)).body
    const verified = await call('POST', '/v4/session/verify', {
      session: before,
      body: { email: payer.email, code: messages[0].codes[0] },
    })
    const session = verified.body.session_id
    expect((await call('POST', `/v4/payment/${hash}`, keyed({ session }, 'k'))).status).toBe(202)
    expectProblem(await call('POST', `/v4/payment/${hash}`, keyed({ session: before }, 'k')), 401, 'sign_in_required')
  })

  it("a replay sets no cookie and names only its caller's session", async () => {
    const { payer } = await newMarket(call)
    const made = await call('POST', '/v4/session', keyed({ token: payer.token }, 'k'))
    const again = await call('POST', '/v4/session', keyed({ token: payer.token }, 'k'))
    expect([again.text, isReplay(again)]).toEqual([made.text, true])
    expect([again.headers.get('set-cookie'), again.headers.get('x-session-id')]).toEqual([null, null])
  })
})

describe('a call with an Idempotency-Key', () => {
  it('that was refused and changed nothing leaves the key free: it pays after a top-up', async () => {
    const seller = await newSeller(call)
    const { hash } = await newCommodity(call, seller)
    const poor = await newPayer(call, seller)
    const pay = () => call('POST', `/v4/payment/${hash}`, keyed({ token: poor.token }, 'k'))
    expectProblem(await pay(), 402, 'insufficient_funds')
    await fund(call, poor.hostname, 1)
    const [paid, again] = [await pay(), await pay()]
    expect([paid.status, isReplay(paid), again.text, isReplay(again)]).toEqual([202, false, paid.text, true])
  })

  it('that counted a wrong client secret leaves the key free', async () => {
    const { clientId } = await newSeller(call)
    const before = (await service.sandbox.snapshot()).rows.idempotency?.length
    const authorization = `Basic ${btoa(`${clientId}:wrong`)}`
    const wrong = await call('POST', '/v4/account/oauth/token', keyed({ headers: { authorization } }, 'k'))
    expectProblem(wrong, 401, 'client_unknown')
    expect((await service.sandbox.snapshot()).rows.idempotency?.length).toBe(before)
  })

  it('does not charge a declined card again', async () => {
    const { payer } = await newMarket(call)
    const path = `/v4/twin/${payer.hostname}/topup`
    const body = { amount: 5, payment_method_id: 'pm_card_chargeDeclined' }
    const first = await call('POST', path, { ...keyed({ token: payer.token }, 'k'), body })
    const again = await call('POST', path, { ...keyed({ token: payer.token }, 'k'), body })
    expectProblem(first, 402, 'card_declined')
    expect([again.text, isReplay(again)]).toEqual([first.text, true])
    const { payments } = (await call('GET', '/v4/payments', { token: payer.token })).body
    expect(payments.filter(({ kind }: { kind: string }) => kind === 'topup')).toHaveLength(1)
  })

  it('does not charge a card again that was declined before the first write', async () => {
    const asked: string[] = []
    const cards = {
      save: async ({ payment_method_id }: { payment_method_id: string }) => {
        asked.push(payment_method_id)
        return { status: 'declined', reason: 'stolen card' } as const
      },
      charge: async () => ({ status: 'unavailable' }) as const,
      refund: async () => ({ status: 'refused', reason: 'nothing was charged' }) as const,
    }
    const own = createService({ sandbox: true, cards })
    const ask = caller({ url: own.baseUrl, fetch: own.fetch })
    const { token } = await newSeller(ask)
    const put = () =>
      ask('PUT', '/v4/billing/card', { ...keyed({ token }, 'k'), body: { payment_method_id: 'pm_stolen' } })
    const [first, again] = [await put(), await put()]
    expectProblem(first, 402, 'card_declined')
    expect([again.text, isReplay(again), asked]).toEqual([first.text, true, ['pm_stolen']])
    await own.close()
  })

  it('does not call a failed endpoint again', async () => {
    const { payer, shop } = await newMarket(call)
    upstream.requests.length = 0
    const order = { amount: 1, destination: shop, serviceUrl: `${upstream.url}/status/500` }
    const ask = () => paywall(call, keyed({ token: payer.token }, 'k'), order)
    const [first, again] = [await ask(), await ask()]
    expect([first.status, again.text, isReplay(again)]).toEqual([500, first.text, true])
    expect(upstream.requests).toHaveLength(1)
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(10)
  })

  it('that nobody approved leaves the key free', async () => {
    const market = await newMarket(call)
    const page = await newPage(call, market, 'reject')
    const order = { amount: 0.5, destination: market.shop }
    expectProblem(await paywall(call, keyed(page, 'k'), order), 403, 'rejected')
    await setPhone(call, market.payer, 'approve')
    const paid = await paywall(call, keyed(page, 'k'), order)
    expect([paid.status, isReplay(paid)]).toEqual([200, false])
  })

  it('validates a nonce again only with the key of the first validation', async () => {
    const { seller, payer, hash } = await newMarket(call)
    const { nonce, timestamp } = (await call('POST', `/v4/payment/${hash}`, { token: payer.token })).body
    const validate = (options: CallOptions) =>
      call('POST', `/v4/payment/${hash}/validate`, { ...options, body: { nonce, timestamp } })
    const first = await validate(keyed({ token: seller.token }, 'k'))
    const again = await validate(keyed({ token: seller.token }, 'k'))
    expect([first.body.valid, again.text, isReplay(again)]).toEqual([true, first.text, true])
    expectProblem(await validate({ token: seller.token }), 400, 'nonce_used')
    expectProblem(await validate(keyed({ token: seller.token }, 'k2')), 400, 'nonce_used')
  })

  it('answers a claim and a cancellation again after a lost answer, and moves value once', async () => {
    const seller = await newSeller(call)
    const sender = await newPayer(call, seller, { balance: 3 })
    const send = async (address: string) =>
      (await call('POST', '/v4/transfer', { token: sender.token, body: { address, amount: 1 } })).body.id
    const cancelled = await send('nobody@example.test')
    const cancel = () => call('POST', `/v4/transfers/${cancelled}/cancel`, keyed({ token: sender.token }, 'k'))
    const [first, again] = [await cancel(), await cancel()]
    expect([first.status, again.text, isReplay(again)]).toEqual([200, first.text, true])
    expect(await balanceOf(call, sender.token, sender.hostname)).toBe(3)
    expectProblem(
      await call('POST', `/v4/transfers/${cancelled}/cancel`, { token: sender.token }),
      409,
      'transfer_settled',
    )
    await expectSoundLedger(call)
  })

  it('creates twins, users and cart lines once', async () => {
    const seller = await newSeller(call)
    const { payer } = await newMarket(call)
    const dq = await defaultDq(call)
    for (const [path, token, body] of [
      ['/v4/twin', seller.token, { dq }],
      ['/v4/user', seller.token, { email: `${randomUUID()}@example.test` }],
      ['/v4/carts', payer.token, undefined],
      ['/v2/twin/nonce', seller.token, { hostname: (await newTwin(call, seller.token)).hostname }],
      ['/v4/events', seller.token, { type: 'client.seen', data: {} }],
    ] as const) {
      const make = () => call('POST', path, { ...keyed({ token }, 'k'), ...(body && { body }) })
      const [first, again] = [await make(), await make()]
      expect([path, first.status, again.text, isReplay(again)]).toEqual([path, 201, first.text, true])
    }
  })

  it('mails one link for an approval', async () => {
    const { payer } = await newMarket(call)
    const body = { action: 'transfer', detail: { amount: 1 } }
    const ask = () => call('POST', '/v4/authentication-requests', { ...keyed({ token: payer.token }, 'k'), body })
    const [first, again] = [await ask(), await ask()]
    expect([again.text, isReplay(again)]).toEqual([first.text, true])
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${payer.email}&kind=mail`)).body
    expect(messages).toHaveLength(1)
    expect((await answerLink(call, await mailedLink(call, payer.email))).status).toBe(200)
  })
})

/** Operations that take no key, and why a retry of them doubles nothing. */
const unkeyed: Readonly<Record<string, readonly string[]>> = {
  'what it sets is the same however often it is set': [
    'updateAccount',
    'updateCatalogItem',
    'replaceDispatchParameters',
    'updateCartItem',
    'answerAuthorization',
    'updateAgentSettings',
    'updateBillingProfile',
    'updateOidcClient',
    'updatePayback',
    'updateTool',
    'updateWebhook',
  ],
  'what is gone goes no second time': [
    'deleteCart',
    'deleteCartItem',
    'deleteDelegate',
    'deleteSession',
    'deleteSessionById',
    'deleteRegistration',
    'deleteAuthorization',
    'deleteCard',
    'deleteOidcClient',
    'deleteConnection',
    'deleteTool',
    'deleteWebhook',
    'revokeOidcToken',
  ],
  'it only looks': ['introspectOidcToken', 'readUserinfoByForm', 'verifyX402Payment'],
  'an authorization pays once, and a payment identifier gives the first receipt again': ['settleX402Payment'],
  'its code is spent once, and an answer given again would hand the new session to whoever knows the old one': [
    'verifySessionCode',
  ],
  'a browser sends its form, which says what is shown; the page shows how things stand': [
    'answerCheckout',
    'answerInvitation',
    'answerMailedRequest',
    'answerDeviceLink',
    'answerAccountChoice',
    'answerApproval',
    'authorizeOidcByForm',
    'endOidcSessionByForm',
    'confirmEndOidcSession',
    'answerInteraction',
  ],
  'a message of its protocol, which has no such key; what it buys spends an approval or a limit': [
    'callMcp',
    'callAccountMcp',
  ],
  'a signed transfer pays once; a name that its payer gives it is its key': ['callCatalogItem'],
}

describe('every operation except GET', () => {
  it('takes an Idempotency-Key, or is on the list of those that need none', () => {
    const without = routeList.filter(
      ({ method, idempotent, scope }) => method !== 'GET' && !idempotent && scope !== 'sandbox',
    )
    expect(without.map(({ id }) => id).sort()).toEqual(Object.values(unkeyed).flat().sort())
  })
})
