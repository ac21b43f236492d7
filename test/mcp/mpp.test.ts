import { evm } from 'mppx/evm/client'
import { McpClient } from 'mppx/mcp/client'
import { afterEach, expect, test } from 'vitest'
import { type Era, messageIn, modern, send } from '../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../support/mcp/mcp-shop.js'
import { newItem } from '../support/scenes/catalog.js'
import { fundAddress, heldBy, newAccount, newWallet, USDC_DQ } from '../support/scenes/x402.js'

let shop: McpShop
afterEach(() => shop.service.close())

const OSLO = { city: 'Oslo' }
const DECLARED = { experimental: { payment: { methods: { evm: { intents: ['charge'] } } } } }

/** A shop that sells two tools for 0.01 USDC, and what calls them. */
async function newMppShop() {
  shop = await newMcpShop()
  const { call, seller, agent, item } = shop
  await fundAddress(call, newAccount().address, 1)
  const endpoint = (await call('GET', `/v4/catalog/items/${item.id}`, { token: seller.token })).body.external_endpoint
  const sold = { price: 0.01, dq: USDC_DQ, featured: true, external_endpoint: endpoint }
  const paid = await newItem(call, seller, { name: 'Paid weather', ...sold })
  await newItem(call, seller, { name: 'Other weather', ...sold })
  const callTool = async (
    meta: object = {},
    args: object = OSLO,
    name = 'paid_weather',
    capabilities: object = DECLARED,
  ) => {
    const { message, headers } = modern('tools/call', { name, arguments: args }, capabilities)
    const sent = { ...message, params: { ...message.params, _meta: { ...message.params._meta, ...meta } } }
    return messageIn(await send(call, sent, { path: shop.own, token: agent.token, headers }))
  }
  return { callTool, paid }
}

test('asks who says nothing of MPP for an approval', async () => {
  const { callTool } = await newMppShop()
  expect((await callTool({}, OSLO, 'paid_weather', {})).result.structuredContent.code).toBe('approval_required')
})

test.each<Era>(['2025-11-25'])('the client of mppx pays in the era %s', async (era) => {
  await newMppShop()
  const account = await newWallet(shop.call, 1)
  const client = await shop.client(era, { path: shop.own, capabilities: DECLARED })
  const methods = evm({ account, authorization: { name: 'USDC', version: '2' } })
  const paying = McpClient.wrap(client as any, { methods: [methods] } as any) as any
  const paid = await paying.callTool({ name: 'paid_weather', arguments: OSLO })
  expect(paid.structuredContent).toMatchObject({ status: 'paid' })
  expect(paid.receipt).toMatchObject({ method: 'evm', status: 'success' })
  expect(await heldBy(shop.call, account.address)).toBe(0.99)
  await client.close()
})
