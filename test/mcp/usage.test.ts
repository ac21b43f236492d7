import { afterEach, expect, test } from 'vitest'
import { connect, done, refused } from '../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../support/mcp/mcp-shop.js'
import { approved } from '../support/scenes/approvals.js'
import { newItem } from '../support/scenes/catalog.js'
import { newAgent } from '../support/scenes/oidc.js'
import { defaultDq, newSeller, tokenFor } from '../support/scenes/world.js'

let shop: McpShop
afterEach(() => shop.service.close())

const OSLO = { city: 'Oslo' }

const usedBy = async ({ token }: { token: string }): Promise<number> =>
  (await shop.call('GET', '/v4/billing', { token })).body.usage.mcp_calls.used

/** As if the account's server had sold so often this month. */
async function useUp({ id }: { id: number }, calls: number): Promise<void> {
  const { sandbox } = shop.service
  const { rows, counters } = await sandbox.snapshot()
  const now = new Date(shop.at)
  const period_start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth())
  const usage = { id, period_start, calls }
  await sandbox.restore({ counters, rows: { ...rows, mcp_usages: [usage] } })
}

test("sales of an account's server count in its plan, but reads and refusals do not", async () => {
  shop = await newMcpShop({ featured: true })
  const { call, seller, item, own } = shop
  const client = await shop.client('2025-11-25', { path: own })
  await done(client, 'agent_wallet_info')
  await done(client, 'catalog_search')
  await refused(client, 'city_weather', OSLO)
  await refused(client, 'agent_checkout', { catalog_item_id: item.id, arguments: {} })
  const { id: cart_id } = await done(client, 'cart_add', { catalog_item_id: item.id, arguments: OSLO, quantity: 2 })
  const { approval: cart } = await refused(client, 'cart_pay', { cart_id })
  const other = await newItem(call, await newSeller(call), { price: 0 })
  await done(client, 'agent_checkout', { catalog_item_id: other.id, arguments: OSLO })
  expect(await usedBy(seller)).toBe(0)

  const order = { catalog_item_id: item.id, arguments: OSLO }
  const approval_id = await approved(call, shop, { kind: 'purchase', ...order })
  await done(client, 'city_weather', { ...OSLO, approval_id })
  expect(await usedBy(seller)).toBe(1)
  const free = await newItem(call, seller, { price: 0 })
  await done(client, 'agent_checkout', { catalog_item_id: free.id, arguments: OSLO })
  expect(await usedBy(seller)).toBe(2)
  await done(client, 'cart_pay', { cart_id, approval_id: await approved(call, shop, cart) })
  await done(client, 'cart_pay', { cart_id })
  expect(await usedBy(seller)).toBe(3)
  await done(await shop.client('2025-11-25'), 'agent_checkout', { catalog_item_id: free.id, arguments: OSLO })
  expect(await usedBy(seller)).toBe(3)
})

test("accepts the plan's number of calls a month, and tells buyers only when the next month begins", async () => {
  shop = await newMcpShop({ featured: true, price: 0 })
  const { seller, item, own } = shop
  await useUp(seller, 999)
  const client = await shop.client('2025-11-25', { path: own })
  const { id: cart_id } = await done(client, 'cart_add', { catalog_item_id: item.id, arguments: OSLO })
  expect(await done(client, 'city_weather', OSLO)).toMatchObject({ status: 'paid' })
  const order = { catalog_item_id: item.id, arguments: OSLO }
  const calls = [() => refused(client, 'city_weather', OSLO), () => refused(client, 'agent_checkout', order)]
  for (const again of [...calls, () => refused(client, 'cart_pay', { cart_id })]) {
    const refusal = await again()
    expect(Object.keys(refusal).sort()).toEqual(['code', 'error', 'of', 'resets_at', 'status'])
    expect(refusal).toMatchObject({ code: 'plan_limit_reached', of: 'mcp_calls' })
    expect(refusal.error).toContain(
      `This seller accepts no more calls until ${new Date(refusal.resets_at * 1000).toISOString()}. Try again then.`,
    )
  }
  expect(await usedBy(seller)).toBe(1000)
  await done(client, 'agent_wallet_info')
  await done(await shop.client('2025-11-25'), 'agent_checkout', order)
})

test("shows the whole limit to the account's own agent", async () => {
  shop = await newMcpShop()
  const { call, service } = shop
  const email = 'owner@example.test'
  const body = { dq: await defaultDq(call), email }
  const { account } = (await call('POST', '/v4/account/register', { body })).body
  const [, { client_id, client_secret }] = account.secrets
  const item = await newItem(call, { token: await tokenFor(call, client_id, client_secret) }, { price: 0 })
  await useUp(account, 1000)
  const { accessToken: token } = await newAgent(call, { email, account: String(account.id) })
  const running = { url: service.baseUrl, fetch: (request: Request) => service.fetch(request) }
  const client = await connect(running, { token, era: '2026-07-28', path: `/mcp/${account.id}` })
  const refusal = await refused(client, 'agent_checkout', { catalog_item_id: item.id, arguments: OSLO })
  expect(refusal).toMatchObject({ code: 'plan_limit_reached', plan: 'free', limit: 1000, used: 1000 })
  expect(refusal.error).toContain('PUT /v4/billing/plan')
})
