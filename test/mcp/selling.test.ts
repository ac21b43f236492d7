import { afterEach, expect, test } from 'vitest'
import { connect, done, refused } from '../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../support/mcp/mcp-shop.js'
import { newOwnAccount, pathOf } from '../support/scenes/account-changes.js'
import { newItem, putParameters } from '../support/scenes/catalog.js'
import { fill, newAgent, signInAt } from '../support/scenes/oidc.js'
import { defaultDq, tokenFor } from '../support/scenes/world.js'

let shop: McpShop
afterEach(() => shop.service.close())

const EMAIL = 'owner@example.test'

/** An agent that its user granted their business account, and that account's own token. */
async function newBusiness() {
  shop = await newMcpShop()
  const { call, service } = shop
  const { account } = (
    await call('POST', '/v4/account/register', { body: { dq: await defaultDq(call), email: EMAIL } })
  ).body
  const [, { client_id, client_secret }] = account.secrets
  const { accessToken } = await newAgent(call, { email: EMAIL, account: String(account.id) })
  const running = { url: service.baseUrl, fetch: (request: Request) => service.fetch(request) }
  const client = await connect(running, { token: accessToken, era: '2026-07-28' })
  return { call, client, account, token: await tokenFor(call, client_id, client_secret) }
}

test('an agent with a business account sees the tools for selling', async () => {
  const { client } = await newBusiness()
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['twin_status', 'create_twin', 'list_my_tools', 'test_tool']))
  expect(await done(client, 'agent_wallet_info')).toMatchObject({ account: { name: null } })
})

test('an agent without a business account asks its user to choose one, and then sells', async () => {
  shop = await newMcpShop()
  const { call, service } = shop
  expect(await refused(await shop.client('2025-11-25'), 'choose_account')).toMatchObject({ code: 'not_choosable' })
  const { id } = await newOwnAccount(call, EMAIL)
  const { accessToken: token } = await newAgent(call, { email: EMAIL })
  const running = { url: service.baseUrl, fetch: (request: Request) => service.fetch(request) }
  const client = await connect(running, { token, era: '2025-11-25' })
  expect(await done(client, 'agent_wallet_info')).toMatchObject({ account: null, choosable: true })
  for (const [name, args] of [
    ['twin_status', {}],
    ['register_tool', { name: 'A', description: '', price_per_call: 0, service_url: 'https://api.example.test/' }],
  ] as const)
    expect(await refused(client, name, args)).toMatchObject({
      code: 'account_not_granted',
      next: expect.stringContaining('choose_account'),
    })
  const { messages } = await client.getPrompt({ name: 'sell_an_api', arguments: { endpoint: 'an API' } })
  expect(JSON.stringify(messages)).toContain('choose_account')
  const asked = await done(client, 'choose_account')
  expect(asked).toEqual({ url: expect.any(String), expires_at: shop.at / 1000 + 900 })
  const { session } = await signInAt(call, pathOf(asked.url), EMAIL)
  await fill(call, pathOf(asked.url), session, { answer: 'choose', account: String(id) })
  expect(await done(client, 'twin_status')).toMatchObject({ account: { id } })
  expect(await done(client, 'agent_wallet_info')).toMatchObject({ account: { id }, choosable: true })
})

test('an agent sees and creates twins of the business, and never sees their keys', async () => {
  const { client, account, call, token } = await newBusiness()
  const made = await done(client, 'create_twin')
  expect(made).toMatchObject({ hostname: expect.any(String), key: null })
  const status = await done(client, 'twin_status')
  expect(status).toMatchObject({ account: { id: account.id }, twins: [{ id: made.id, key: null }, { key: null }] })
  expect((await call('GET', `/v4/twin/${made.hostname}`, { token })).body.id).toBe(made.id)
})

test('an agent lists the tools of the business, and tries them without a payment', async () => {
  const { client, call, token } = await newBusiness()
  const item = await newItem(call, { token }, { featured: true, active: false })
  await putParameters(call, { token } as never, item, [{ kind: 'query', name: 'key', value: 'k1', sensitive: true }])
  expect((await done(client, 'list_my_tools')).tools).toMatchObject([{ id: item.id, active: false }])
  const order = { catalog_item_id: item.id, arguments: { city: 'Oslo' } }
  expect(await done(client, 'test_tool', order)).toEqual({
    ok: true,
    failure: null,
    response: { status: 200, content_type: 'application/json', body: '{"story":"The whole story."}' },
  })
  expect(shop.asked.at(-1)?.url).toBe('https://api.example.test/weather?city=Oslo&key=k1')
  const broken = await newItem(call, { token }, { external_endpoint: 'https://api.example.test/down' })
  expect(await done(client, 'test_tool', { ...order, catalog_item_id: broken.id })).toMatchObject({
    ok: false,
    failure: 'The upstream service answered 503.',
  })
  expect((await done(client, 'purchase_history')).purchases).toEqual([])
  expect(await refused(client, 'test_tool', { ...order, catalog_item_id: shop.item.id })).toMatchObject({
    code: 'not_found',
  })
  expect(await refused(client, 'test_tool', { catalog_item_id: item.id })).toMatchObject({ code: 'arguments_refused' })
})

test('an agent creates, changes and removes items exactly as its user approves, each once', async () => {
  const { client, call } = await newBusiness()
  const greeter = {
    name: 'Greeter',
    description: 'Says hello.',
    price_per_call: 0.01,
    service_url: 'https://api.example.test/hello',
  }
  const approve = async ({ change }: { change: object }) => {
    const { approval_id } = await done(client, 'request_account_change', { change })
    const approved = await call('POST', `/_sandbox/approvals/${approval_id}/approve`)
    expect(approved.status, approved.text).toBe(200)
    return { approval_id }
  }
  const refusal = await refused(client, 'register_tool', greeter)
  expect(refusal).toMatchObject({ code: 'approval_required', next: expect.stringContaining('`url`') })
  const { approval_id } = await approve(refusal.approval)
  const other = { ...greeter, price_per_call: 5, approval_id }
  expect(await refused(client, 'register_tool', other)).toMatchObject({ code: 'approval_mismatch' })
  const { result } = await done(client, 'register_tool', { ...greeter, approval_id })
  const { id } = result.item
  expect((await done(client, 'list_my_tools')).tools).toMatchObject([{ id, name: 'Greeter', price_per_call: 0.01 }])
  expect(await refused(client, 'register_tool', { ...greeter, approval_id })).toMatchObject({ code: 'approval_spent' })

  const dearer = { catalog_item_id: id, price_per_call: 0.02 }
  const change = await approve((await refused(client, 'update_tool', dearer)).approval)
  await done(client, 'update_tool', { ...dearer, approval_id: change.approval_id })
  const end = await approve((await refused(client, 'deactivate_tool', { catalog_item_id: id })).approval)
  await done(client, 'apply_account_change', { approval_id: end.approval_id })
  expect((await done(client, 'list_my_tools')).tools).toMatchObject([{ id, price_per_call: 0.02, active: false }])
  const plan = { kind: 'update_account', plan: 'scale' }
  expect(await refused(client, 'request_account_change', { change: plan })).toMatchObject({ code: 'field_invalid' })
})
