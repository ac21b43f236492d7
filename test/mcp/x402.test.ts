import { afterEach, describe, expect, test } from 'vitest'
import { type Era, messageIn, modern, send } from '../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../support/mcp/mcp-shop.js'
import { answerApproval } from '../support/scenes/approvals.js'
import { newItem } from '../support/scenes/catalog.js'
import { expectSoundLedger } from '../support/scenes/market.js'
import { fundAddress, heldBy, newAccount, newWallet, paymentOf, type Signing, USDC_DQ } from '../support/scenes/x402.js'

let shop: McpShop
afterEach(() => shop.service.close())

const OSLO = { city: 'Oslo' }
const named = { 'payment-identifier': { info: { required: false, id: 'pay_0123456789abcdef' }, schema: {} } }

/** A shop whose featured item costs 0.01 USDC, and what calls its tool with a `_meta`. */
async function newX402Shop(era: Era, fields: object = {}) {
  shop = await newMcpShop()
  const { call, seller, agent, item } = shop
  await fundAddress(call, newAccount().address, 1)
  const endpoint = (await call('GET', `/v4/catalog/items/${item.id}`, { token: seller.token })).body.external_endpoint
  const sold = { name: 'Paid weather', featured: true, external_endpoint: endpoint }
  await newItem(call, seller, { price: 0.01, dq: USDC_DQ, ...sold, ...fields })
  const path = `/mcp/${seller.id}`
  return async (meta: object = {}, args: object = OSLO, capabilities: object = {}) => {
    const params = { name: 'paid_weather', arguments: args }
    const { message, headers } = modern('tools/call', params, capabilities)
    const sent =
      era === '2026-07-28'
        ? { ...message, params: { ...message.params, _meta: { ...message.params._meta, ...meta } } }
        : { id: 1, method: 'tools/call', params: { ...params, _meta: meta } }
    const version = era === '2026-07-28' ? headers : { 'mcp-protocol-version': era }
    return messageIn(await send(call, sent, { path, token: agent.token, headers: version })).result
  }
}

type Account = Awaited<ReturnType<typeof newWallet>>

async function paying(account: Account, { structuredContent: { accepts } }: any, signing: Signing = {}) {
  const [{ payTo, amount, asset, extra }] = accepts
  const { paymentPayload } = await paymentOf(account, { payTo, amount, asset, ...extra, ...signing })
  return { 'x402/payment': paymentPayload }
}

const ASKS = { 'x402/version': 2 }

describe.each<Era>(['2025-11-25', '2026-07-28'])('an agent of %s', (era) => {
  test('learns what a tool costs, and pays for the call in its _meta', async () => {
    const callTool = await newX402Shop(era)
    const { call } = shop
    const account = await newWallet(call, 1)
    const unpaid = await callTool(ASKS)
    expect(unpaid).toMatchObject({
      isError: true,
      structuredContent: {
        x402Version: 2,
        resource: { url: 'mcp://tool/paid_weather' },
        accepts: [{ scheme: 'exact', network: 'eip155:84532', amount: '10000' }],
      },
    })
    expect(JSON.parse(unpaid.content[0].text)).toEqual(unpaid.structuredContent)
    const payment = await paying(account, unpaid, { extensions: named })
    const paid = await callTool(payment)
    expect(paid.isError).toBeUndefined()
    expect(paid.structuredContent).toMatchObject({ status: 'paid', response: { body: '{"story":"The whole story."}' } })
    expect(paid._meta['x402/payment-response']).toEqual({
      ...{ success: true, transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/), network: 'eip155:84532' },
      ...{ payer: account.address, amount: '10000' },
    })
    expect(await callTool(payment)).toEqual(paid)
    expect(await heldBy(call, account.address)).toBe(0.99)
    await expectSoundLedger(call)
  })

  test('is refused in the words of x402 for a payment that does not pay', async () => {
    const callTool = await newX402Shop(era)
    const { call } = shop
    const unpaid = await callTool(ASKS)
    const refused = await callTool(await paying(await newWallet(call, 0), unpaid))
    expect(refused.isError).toBe(true)
    expect(refused.structuredContent.error).toContain('invalid_exact_evm_insufficient_balance')
    expect(refused.structuredContent.accepts).toHaveLength(1)
    const account = await newWallet(call, 1)
    const payment = await paying(account, unpaid)
    expect((await callTool(payment, { city: 1 })).structuredContent.code).toBe('arguments_refused')
    const quote = { price: 0.02, dq: USDC_DQ }
    expect((await callTool(payment, { ...OSLO, quote })).structuredContent.code).toBe('price_changed')
    expect((await callTool({ 'x402/payment': 'nonsense' })).structuredContent.code).toBe('field_invalid')
    expect((await callTool(payment)).isError).toBeUndefined()
    const again = await callTool(payment)
    expect(again.structuredContent.error).toContain('invalid_exact_evm_nonce_already_used')
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  test('that says nothing of x402 pays as before, and so does one that names an approval', async () => {
    const callTool = await newX402Shop(era)
    const { call, payer } = shop
    const refused = (await callTool()).structuredContent
    expect(refused.code).toBe('approval_required')
    await answerApproval(call, payer, refused.approval_id)
    const named = await callTool(ASKS, { ...OSLO, approval_id: refused.approval_id })
    expect(named.structuredContent.code).toBe('insufficient_funds')
  })
})

test('a client that declares the extension org.x402/payment is asked to pay, and not for a free tool', async () => {
  const declared = { extensions: { 'org.x402/payment': {} } }
  const callTool = await newX402Shop('2026-07-28')
  const unpaid = await callTool({}, OSLO, declared)
  expect(unpaid).toMatchObject({
    resultType: 'payment_required',
    paymentRequired: { x402Version: 2, resource: { url: 'mcp://tool/paid_weather' }, accepts: [{ amount: '10000' }] },
  })
  expect(unpaid).not.toHaveProperty('structuredContent')
  const account = await newWallet(shop.call, 1)
  const payment = await paying(account, { structuredContent: unpaid.paymentRequired })
  const paid = await callTool(payment, OSLO, declared)
  expect(paid).toMatchObject({ resultType: 'complete', structuredContent: { status: 'paid' } })
  expect(paid._meta['x402/payment-response']).toMatchObject({ success: true, payer: account.address })
  const again = await callTool(payment, OSLO, declared)
  expect(again.paymentRequired.error).toContain('invalid_exact_evm_nonce_already_used')
  expect(again).toMatchObject({ resultType: 'payment_required', paymentRequired: { accepts: [{ amount: '10000' }] } })
  await shop.service.close()
  const callFree = await newX402Shop('2026-07-28', { price: 0 })
  expect((await callFree({}, OSLO, declared)).structuredContent).toMatchObject({ status: 'paid', amount: 0 })
})

test('another tool of the same price is not delivered for a payment that has paid', async () => {
  const callTool = await newX402Shop('2026-07-28', { private: true })
  const account = await newWallet(shop.call, 1)
  const payment = await paying(account, await callTool(ASKS), { extensions: named })
  expect((await callTool(payment)).isError).toBeUndefined()
  const other = await callTool(payment, { city: 'Bergen' })
  expect(other.structuredContent.code).toBe('payment_identifier_mismatch')
})
