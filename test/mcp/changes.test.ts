import type { Client } from '@modelcontextprotocol/client'
import { afterEach, expect, test } from 'vitest'
import { startHost } from '../support/browser/host.js'
import { connect, done } from '../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../support/mcp/mcp-shop.js'
import { answerApproval } from '../support/scenes/approvals.js'
import { changeItem, newItem } from '../support/scenes/catalog.js'
import { newAgent } from '../support/scenes/oidc.js'
import { callsOf } from '../support/storage/counting-storage.js'

let shop: McpShop
let client: Client
afterEach(async () => {
  await client.close()
  await shop.service.close()
})

const METHODS = [
  'notifications/tools/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
] as const

/** What a subscriber hears, in order. */
async function listen(path?: string): Promise<string[]> {
  client = await shop.client('2026-07-28', path === undefined ? {} : { path })
  const heard: string[] = []
  for (const method of METHODS) client.setNotificationHandler(method, () => void heard.push(method))
  await client.listen({
    toolsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['farthing://catalog'],
  })
  return heard
}

test('listeners learn about changes of tools, the catalog and receipts, and about nothing else', async () => {
  shop = await newMcpShop({ featured: true })
  const { call, seller, item, payer } = shop
  const heard = await listen(shop.own)
  await changeItem(call, seller, item, { price: 0.5 })
  await expect.poll(() => heard).toEqual([METHODS[0], METHODS[2]])
  heard.length = 0
  const asked = await done(client, 'request_approval', {
    kind: 'purchase',
    catalog_item_id: item.id,
    arguments: { city: 'Oslo' },
  })
  await answerApproval(call, payer, asked.approval_id)
  await done(client, 'city_weather', { city: 'Oslo', approval_id: asked.approval_id })
  await expect.poll(() => heard).toEqual([METHODS[1]])
  heard.length = 0
  await newItem(call, seller, { name: 'Not a tool' })
  await expect.poll(() => heard).toEqual([METHODS[2]])
})

test('a list is never older than the catalog', async () => {
  shop = await newMcpShop({ featured: true })
  client = await shop.client('2026-07-28', { path: shop.own })
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  expect(await names()).toContain('city_weather')
  await changeItem(shop.call, shop.seller, shop.item, { featured: false })
  expect(await names()).not.toContain('city_weather')
})

test('the stream ends once the user has disconnected the app', async () => {
  shop = await newMcpShop()
  client = await shop.client('2026-07-28')
  const { closed } = await client.listen({ toolsListChanged: true })
  const { connections } = (await shop.call('GET', '/v4/connections', { token: shop.payer.token })).body
  await shop.call('DELETE', `/v4/connections/${connections[0].id}`, { token: shop.payer.token })
  expect(await closed).toBe('graceful')
})

test('a user opens 50 subscriptions, and a message that subscribes to nothing takes no place', async () => {
  shop = await newMcpShop()
  client = await shop.client('2026-07-28')
  const { token } = shop.agent
  const send = (body: object) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    return shop.service.fetch(new Request(`${shop.service.baseUrl}/mcp`, request))
  }
  const message = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: {} }
  for (let n = 0; n < 60; n++) await (await send(message)).body?.cancel()
  const heard = await Promise.all(Array.from({ length: 50 }, () => client.listen({ toolsListChanged: true })))
  const refused = await send(message)
  expect([refused.status, (await refused.json()).code]).toEqual([429, 'too_many_streams'])
  await heard[0]?.close()
  await expect.poll(async () => (await send(message)).status).not.toBe(429)
})

test('a change of the catalog reads it once for all who follow it', async () => {
  const reads = async (listeners: number) => {
    shop = await newMcpShop()
    client = await shop.client('2026-07-28')
    const { count } = shop
    for (let n = 0; n < listeners; n++)
      await client.listen({ resourceSubscriptions: ['farthing://catalog'], resourcesListChanged: true })
    return callsOf(count, () => changeItem(shop.call, shop.seller, shop.item, { price: 0.5 }))
  }
  const one = await reads(1)
  await client.close()
  await shop.service.close()
  expect(await reads(30)).toBe(one)
})

test('a closing server ends the streams first', async () => {
  const host = await startHost()
  const { accessToken } = await newAgent(host.call)
  const fetchIt = (request: Request) => fetch(request)
  const listener = await connect({ url: host.url, fetch: fetchIt }, { token: accessToken, era: '2026-07-28' })
  const { closed } = await listener.listen({ toolsListChanged: true })
  const at = performance.now()
  await host.close()
  expect(await closed).toBe('graceful')
  expect(performance.now() - at).toBeLessThan(5000)
  await listener.close()
})
