import { Credential } from 'mppx'
import { expect, it, test } from 'vitest'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { messageIn, modern, send } from '../../support/mcp/mcp.js'
import { newItem } from '../../support/scenes/catalog.js'
import { advance, expectSoundLedger } from '../../support/scenes/market.js'
import { challengeIn, mppReceiptIn, payChallenge } from '../../support/scenes/mpp.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { callItem, newPaidShop } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { heldBy, newWallet, USDC_DQ } from '../../support/scenes/x402.js'

const upstream = useUpstream()
/** What a client declares that pays by MPP. */
const MPP_CLIENT = { experimental: { payment: { methods: { evm: { intents: ['charge'] } } } } }
const at = (path: string) => ({ external_endpoint: `${upstream.url}/${path}` })

contract('callCatalogItemByGet', (start) => {
  it('sells a call by MPP, with a challenge, a credential and a receipt', {
    tags: 'everywhere',
  }, async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const account = await newWallet(call, 1)
    const unpaid = await callItem(call, item)
    const challenge = challengeIn(unpaid)
    expect(challenge).toMatchObject({
      ...{ method: 'evm', intent: 'charge' },
      request: { amount: '10000', methodDetails: { chainId: 84532, credentialTypes: ['authorization'] } },
    })
    const paid = await callItem(call, item, await payChallenge(account, challenge))
    expect([paid.status, paid.text]).toEqual([200, '{"story":"The whole story."}'])
    expect(mppReceiptIn(paid)).toEqual({
      ...{ method: 'evm', status: 'success', challengeId: challenge.id, chainId: 84532 },
      reference: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    })
    expect(await heldBy(call, account.address)).toBe(0.99)
    const again = await callItem(call, item, await payChallenge(account, challengeIn(await callItem(call, item))))
    expect(again.status).toBe(200)
    expect(await heldBy(call, account.address)).toBe(0.98)
    await expectSoundLedger(call)
  })

  it.each([
    ['no JSON', () => 'Payment !!!', 'malformed-credential'],
    ['no credential', () => `Payment ${Buffer.from('{"a":1}').toString('base64url')}`, 'malformed-credential'],
  ])('answers 402 to %s, and never 401', async (_, header, reason) => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const refused = await callItem(call, item, { authorization: header() })
    expect(refused.status).toBe(402)
    expect(refused.body).toMatchObject({ reason, type: `https://paymentauth.org/problems/${reason}` })
    expect(refused.headers.get('content-type')).toBe('application/problem+json')
    expect(refused.body).toMatchObject({ status: 402, title: expect.any(String), detail: expect.any(String) })
    expect(challengeIn(refused).id).toBe(refused.body.challengeId)
  })

  it.each<[string, (credential: any) => void, string]>([
    ['an id that nobody made', ({ challenge }) => (challenge.id = 'x'.repeat(43)), 'invalid-challenge'],
    ['another realm', ({ challenge }) => (challenge.realm = 'shop.example.test'), 'invalid-challenge'],
    ['a lower price', ({ challenge }) => (challenge.request.amount = '1'), 'invalid-challenge'],
    ['a later expiry', ({ challenge }) => (challenge.expires = '2099-01-01T00:00:00.000Z'), 'invalid-challenge'],
    ['another opaque', ({ challenge }) => (challenge.opaque = 'e30'), 'invalid-challenge'],
    [
      'another source',
      (credential) => (credential.source = `did:pkh:eip155:84532:0x${'1'.repeat(40)}`),
      'verification-failed',
    ],
    ['another nonce', ({ payload }) => (payload.nonce = `0x${'1'.repeat(64)}`), 'verification-failed'],
    ['a changed value', ({ payload }) => (payload.value = '1'), 'verification-failed'],
    ['a signature of a smart wallet', ({ payload }) => (payload.signature += '00'.repeat(32)), 'verification-failed'],
  ])('refuses %s', async (_, change, reason) => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const account = await newWallet(call, 1)
    const header = await payChallenge(account, challengeIn(await callItem(call, item)), change)
    const refused = await callItem(call, item, header)
    expect([refused.status, refused.body.reason]).toEqual([402, reason])
    expect(refused.headers.get('payment-receipt')).toBeNull()
    expect(await heldBy(call, account.address)).toBe(1)
  })

  it('refuses a credential for another item, body or query, and a second time', async () => {
    const {
      call,
      made: { item, seller },
    } = await startWith(start, newPaidShop, at('ok'))
    const other = await newItem(call, seller, { price: 0.01, dq: USDC_DQ, ...at('ok') })
    const account = await newWallet(call, 1)
    const header = await payChallenge(account, challengeIn(await callItem(call, item)))
    expect((await callItem(call, other, header)).body.reason).toBe('invalid-challenge')
    const posted = await call('POST', `/v4/catalog/items/${item.id}/call`, { headers: header, body: { city: 'Oslo' } })
    expect(posted.body.reason).toBe('invalid-challenge')
    expect((await callItem(call, item, header, 'city=Bergen')).body.reason).toBe('invalid-challenge')
    expect((await callItem(call, item, header)).status).toBe(200)
    expect((await callItem(call, item, header)).body.reason).toBe('invalid-challenge')
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  it('refuses an expired challenge by its own clock', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const account = await newWallet(call, 1)
    const challenge = challengeIn(await callItem(call, item))
    const header = await payChallenge(account, challenge)
    await advance(call, '6m')
    expect((await callItem(call, item, header)).body.reason).toBe('payment-expired')
    expect(await heldBy(call, account.address)).toBe(1)
  })

  it('offers only what the client accepts', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, at('ok'))
    const asked = async (accepted: string) =>
      (await callItem(call, item, { 'accept-payment': accepted })).headers.has('www-authenticate')
    expect(await asked('evm/charge, tempo/charge;q=0.5')).toBe(true)
    expect(await asked('*/*;q=0.1')).toBe(true)
    expect(await asked('tempo/charge')).toBe(false)
    expect(await asked('evm/charge;q=0, */*')).toBe(false)
  })
})

contract('callCatalogItem', (start) => {
  it('binds a challenge to the body', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, { ...at('ok'), service_method: 'POST' })
    const account = await newWallet(call, 1)
    const send = (city: string, headers: Record<string, string> = {}) =>
      call('POST', `/v4/catalog/items/${item.id}/call`, { headers, body: { city } })
    const challenge = challengeIn(await send('Oslo'))
    expect(challenge.digest).toMatch(/^sha-256=/)
    const header = await payChallenge(account, challenge)
    expect((await send('Rome', header)).body.reason).toBe('invalid-challenge')
    const paid = await send('Oslo', header)
    expect(paid.status, paid.text).toBe(200)
    expect(await heldBy(call, account.address)).toBe(0.99)
  })
})

test('takes no first payment of an expired challenge, where a retry gets the content again', async () => {
  const service = createService({ sandbox: true, x402Settle: 'idempotent' })
  const call = caller({ url: 'http://127.0.0.1:4242', fetch: (request) => service.fetch(request) })
  const { item } = await newPaidShop(call, at('ok'))
  const account = await newWallet(call, 1)
  const sign = async () => payChallenge(account, challengeIn(await callItem(call, item)))
  const [paid, late] = [await sign(), await sign()]
  expect((await callItem(call, item, paid)).status).toBe(200)
  await advance(call, '6m')
  expect((await callItem(call, item, late)).status).toBe(402)
  expect((await callItem(call, item, paid)).text).toBe('{"story":"The whole story."}')
  expect(await heldBy(call, account.address)).toBe(0.99)
  await service.close()
})

contract('callAccountMcp', (start) => {
  it('sells a tool by MPP: -32042 with a challenge, a credential in _meta, and a receipt', {
    tags: 'everywhere',
  }, async () => {
    const {
      call,
      made: { seller },
    } = await startWith(start, newPaidShop, { ...at('ok'), featured: true })
    const { accessToken: token } = await newAgent(call)
    const account = await newWallet(call, 1)
    const [{ name }] = (await call('GET', '/v4/mcp/tools', { token: seller.token })).body.tools
    const callTool = async (meta: object = {}) => {
      const tool = { name: name.toLowerCase().replaceAll(' ', '_'), arguments: { city: 'Oslo' } }
      const { message, headers } = modern('tools/call', tool, MPP_CLIENT)
      const params = { ...message.params, _meta: { ...message.params._meta, ...meta } }
      return messageIn(await send(call, { ...message, params }, { path: `/mcp/${seller.id}`, token, headers }))
    }
    const { error } = await callTool()
    expect([error.code, error.data.httpStatus]).toEqual([-32042, 402])
    const [challenge] = error.data.challenges
    const { authorization } = await payChallenge(account, challenge)
    const credential = { 'org.paymentauth/credential': Credential.deserialize(authorization) }
    const { result } = await callTool(credential)
    expect(result.structuredContent).toMatchObject({ status: 'paid', response: { status: 200 } })
    expect(result._meta['org.paymentauth/receipt']).toEqual({
      ...{ method: 'evm', status: 'success', challengeId: challenge.id, chainId: 84532 },
      reference: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      timestamp: expect.stringMatching(/Z$/),
    })
    expect((await callTool(credential)).error.code).toBe(-32043)
    expect(await heldBy(call, account.address)).toBe(0.99)
    expect(upstream.requests).toHaveLength(1)
    await expectSoundLedger(call)
  })
})
