import { evm } from 'mppx/evm/client'
import { McpClient } from 'mppx/mcp/client'
import { expect, test } from 'vitest'
import type { Era } from '../support/mcp/mcp.js'
import { DECLARED, newMppShop, OSLO } from '../support/mcp/mpp-shop.js'
import { heldBy, newWallet } from '../support/scenes/x402.js'

test.each<Era>(['2025-11-25', '2026-07-28'])('the client of mppx pays in the era %s', async (era) => {
  const { shop } = await newMppShop()
  const account = await newWallet(shop.call, 1)
  const client = await shop.client(era, { path: shop.own, capabilities: DECLARED })
  const methods = evm({ account, authorization: { name: 'USDC', version: '2' } })
  const paying = McpClient.wrap(client as any, { methods: [methods] } as any) as any
  const paid = await paying.callTool({ name: 'paid_weather', arguments: OSLO })
  expect(paid.structuredContent).toMatchObject({ status: 'paid' })
  expect(paid.receipt).toMatchObject({ method: 'evm', status: 'success' })
  expect(await heldBy(shop.call, account.address)).toBe(0.99)
  await client.close()
  await shop.service.close()
})
