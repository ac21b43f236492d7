import { Credential } from 'mppx'
import { afterEach, describe, expect, test } from 'vitest'
import type { McpShop } from '../support/mcp/mcp-shop.js'
import { newMppShop as newShop, OSLO, paying } from '../support/mcp/mpp-shop.js'
import { answerApproval } from '../support/scenes/approvals.js'
import { expectSoundLedger, fund } from '../support/scenes/market.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { newPayer } from '../support/scenes/world.js'
import { heldBy, newAccount, newWallet, USDC_DQ } from '../support/scenes/x402.js'

let shop: McpShop
afterEach(() => shop.service.close())

async function newMppShop() {
  const made = await newShop()
  shop = made.shop
  return made
}

describe('a tool call by MPP', () => {
  test('is offered, paid and receipted, once', async () => {
    const { callTool, paid } = await newMppShop()
    const account = await newWallet(shop.call, 1)
    const unpaid = await callTool()
    expect(unpaid.error).toMatchObject({
      code: -32042,
      data: { httpStatus: 402, challenges: [{ method: 'evm', intent: 'charge', request: { amount: '10000' } }] },
    })
    const meta = await paying(account, unpaid)
    const { result } = await callTool(meta)
    expect(result.structuredContent).toMatchObject({ status: 'paid' })
    expect(result._meta['org.paymentauth/receipt']).toMatchObject({
      ...{ method: 'evm', status: 'success' },
      challengeId: unpaid.error.data.challenges[0].id,
    })
    const again = await callTool(meta)
    expect(again.error).toMatchObject({ code: -32043, data: { problem: { title: 'Invalid Challenge', status: 402 } } })
    const authorization = Credential.serialize(meta['org.paymentauth/credential'])
    const over = await shop.call('GET', `/v4/catalog/items/${paid.id}/call?city=Oslo`, { headers: { authorization } })
    expect([over.status, over.body.reason]).toEqual([402, 'invalid-challenge'])
    expect(await heldBy(shop.call, account.address)).toBe(0.99)
    await expectSoundLedger(shop.call)
  })

  test.each<[string, (credential: any) => void, object, string, number]>([
    ['another tool', () => {}, OSLO, 'other_weather', -32043],
    ['other arguments', () => {}, { city: 'Bergen' }, 'paid_weather', -32043],
    ['another amount', ({ challenge }) => (challenge.request.amount = '1'), OSLO, 'paid_weather', -32043],
    ['a changed value', ({ payload }) => (payload.value = '1'), OSLO, 'paid_weather', -32043],
    ['another request', ({ challenge }) => (challenge.request.more = []), OSLO, 'paid_weather', -32602],
    ['no payload', (credential) => delete credential.payload, OSLO, 'paid_weather', -32602],
  ])('refuses a credential for %s', async (_, change, args, name, code) => {
    const { callTool } = await newMppShop()
    const account = await newWallet(shop.call, 1)
    const refused = await callTool(await paying(account, await callTool(), change), args, name)
    expect(refused.error.code).toBe(code)
    expect(refused.error.data.challenges).toHaveLength(1)
    expect(await heldBy(shop.call, account.address)).toBe(1)
  })

  test('asks who says nothing of MPP for an approval', async () => {
    const { callTool } = await newMppShop()
    expect((await callTool({}, OSLO, 'paid_weather', {})).result.structuredContent.code).toBe('approval_required')
  })

  test('sells by agent_checkout too', async () => {
    const { callTool, paid } = await newMppShop()
    const account = await newWallet(shop.call, 1)
    const order = { catalog_item_id: paid.id, arguments: OSLO }
    const meta = await paying(account, await callTool({}, order, 'agent_checkout'))
    expect((await callTool(meta)).error.code).toBe(-32043)
    expect((await callTool(meta, order, 'agent_checkout')).result.structuredContent.status).toBe('paid')
  })
})

describe('what a wallet may spend holds over MCP:', () => {
  test("an app's approval above the threshold, for one call", async () => {
    const { callTool } = await newMppShop()
    const { call, payer } = shop
    const [{ id: connection }] = (await call('GET', '/v4/connections', payer)).body.connections
    const account = newAccount()
    const wallet = (await call('POST', '/_sandbox/wallets', { body: { connection, address: account.address } })).body
    await fund(call, wallet.hostname, 1, USDC_DQ)
    const refused = (await callTool(await paying(account, await callTool()))).error
    expect(refused).toMatchObject({ code: -32043, data: { problem: { title: 'Payment Action Required' } } })
    const { approval_id, url } = refused.data.problem
    expect(refused.message).toContain(url)
    expect((await answerApproval(call, payer, approval_id)).body.status).toBe('approved')
    const other = await paying(account, await callTool({}, { city: 'Bergen' }))
    expect((await callTool(other, { city: 'Bergen' })).error.data.problem.approval_id).not.toBe(approval_id)
    expect((await callTool(await paying(account, await callTool()))).result.structuredContent.status).toBe('paid')
    expect((await callTool(await paying(account, await callTool()))).error.code).toBe(-32043)
  })

  test("a delegate's limit", async () => {
    const { callTool } = await newMppShop()
    const { call, seller } = shop
    const owner = await newPayer(call, seller)
    await fund(call, owner.hostname, 1)
    const persona = await newPersona(call, owner)
    const spend = { party: { client_id: seller.clientId }, dq: USDC_DQ, limit: 0.015 }
    const delegate = await newDelegate(call, owner, { persona: persona.hash, hostname: owner.hostname, spend })
    await fund(call, persona.hostname, 1, USDC_DQ)
    const account = newAccount()
    await call('POST', '/_sandbox/wallets', { body: { delegate: delegate.hash, address: account.address } })
    expect((await callTool(await paying(account, await callTool()))).result.structuredContent.status).toBe('paid')
    expect((await callTool(await paying(account, await callTool()))).error.message).toContain('delegate_refused')
  })
})
