import { afterEach, expect, test } from 'vitest'
import { howMuch } from '../support/how-much.js'
import { done, type Era, refused } from '../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../support/mcp/mcp-shop.js'
import { approved } from '../support/scenes/approvals.js'
import { newItem, WEATHER } from '../support/scenes/catalog.js'
import { putIntoState } from '../support/storage/older-state.js'

let shop: McpShop
afterEach(() => shop.service.close())

const OSLO = { city: 'Oslo' }
const HIDDEN = /[\u200B\u202E\u2028\u{E0041}]/u

test.each(howMuch<Era[]>(['2026-07-28'], ['2025-11-25', '2026-07-28']))(
  "a seller's hidden text reaches no agent of %s, and deliveries arrive unchanged",
  async (era) => {
    shop = await newMcpShop()
    const { call, seller, own } = shop
    await call('PUT', '/v4/account', { token: seller.token, body: { name: 'The Bank' } })
    const item = await newItem(call, seller, {
      name: 'Free lunch',
      description: 'Now\u200B free.',
      descriptor: 'FREE.LUNCH',
      external_endpoint: 'https://api.example.test/hidden',
      featured: true,
      service_schema: { ...WEATHER.service_schema, title: 'A\u200B title', description: 'Of\u202E it.' },
    })
    for (const [taken, older] of [
      ['The Bank', 'The\u202E Bank\u2028'],
      ['Free lunch', 'Free\u202E\u2028lunch\u{E0041}'],
      ['FREE.LUNCH', 'FREE\u200B.LUNCH'],
    ] as const)
      await putIntoState(call, taken, older)
    const client = await shop.client(era, { path: own })
    const seen: Record<string, unknown> = { tools: await client.listTools() }
    const expectPlain = () => {
      for (const [what, shown] of Object.entries(seen)) expect(JSON.stringify(shown), what).not.toMatch(HIDDEN)
    }
    const order = { catalog_item_id: item.id, arguments: OSLO }
    const use = async (name: string, args: object = {}) => {
      const result = await client.callTool({ name, arguments: { ...args } })
      const { response, ...rest } = result.structuredContent as Record<string, any>
      seen[name] = [rest, response === undefined && result.content]
      return { response, ...rest } as Record<string, any>
    }
    for (const name of ['agent_wallet_info', 'check_wallet_balance', 'fund_primary_wallet', 'catalog_search'])
      await use(name)
    const { approval_id } = await use('request_approval', { kind: 'purchase', ...order })
    await use('approval_status', { approval_id })
    await use('free_lunch', OSLO)
    await use('free_lunch')
    const { id: cart_id } = await use('cart_add', order)
    await use('cart_view', { cart_id })
    const { approval } = await use('cart_pay', { cart_id })
    await use('request_approval', approval)
    await use('guest_checkout', order)
    expectPlain()

    const bought = await use('free_lunch', {
      ...OSLO,
      approval_id: await approved(call, shop, { kind: 'purchase', ...order }),
    })
    expect(bought.response.body).toBe('{"story":"The\u202E whole."}')
    expect(bought).toMatchObject({ name: 'Freelunch', seller: 'The Bank' })
    await use('purchase_history')
    const paid = await done(client, 'cart_pay', { cart_id, approval_id: await approved(call, shop, approval) })
    const { receipts, ...line } = paid.items[0]
    seen.line = [line, ...receipts.map(({ response, ...receipt }: { response: object }) => receipt)]
    const read = async (uri: string) => {
      const { contents } = await client.readResource({ uri })
      const { response, ...rest } = JSON.parse((contents[0] as { text: string }).text)
      seen[uri] = rest
      return response
    }
    await read('farthing://catalog')
    await read(`farthing://catalog/${item.id}`)
    expect((await read(`farthing://receipts/${bought.transaction_id}`)).body).toBe(bought.response.body)
    seen.resources = await client.listResources()
    expectPlain()
  },
)

test("an agent's texts stay unchanged, so it gets an approval for exactly its request", async () => {
  shop = await newMcpShop()
  const { call, item } = shop
  const client = await shop.client('2026-07-28')
  const order = { catalog_item_id: item.id, arguments: { city: 'Tehran\u200C and \u202Emore' } }
  const { approval } = await refused(client, 'agent_checkout', order)
  expect(approval).toEqual({ kind: 'purchase', ...order })
  const approval_id = await approved(call, shop, approval)
  expect(await done(client, 'agent_checkout', { ...order, approval_id })).toMatchObject({ status: 'paid' })
})
