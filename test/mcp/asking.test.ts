import { afterEach, expect, test } from 'vitest'
import { CLIENT, done, messageIn, modern, refused, send } from '../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../support/mcp/mcp-shop.js'
import { newBusiness, pathOf, pressApproval } from '../support/scenes/account-changes.js'
import { anotherAgent, answerApproval, heldBy } from '../support/scenes/approvals.js'
import { advance, expectProblem } from '../support/scenes/market.js'
import { fill } from '../support/scenes/oidc.js'
import { newPayer } from '../support/scenes/world.js'

/** Where the client leads its user, they are asked in the middle of a call. */

let shop: McpShop
afterEach(() => shop.service.close())

const OSLO = { city: 'Oslo' }
const LEADS = { elicitation: { url: {} } }
const idIn = (url: string) => url.slice(url.lastIndexOf('/') + 1)

/** One round of a call, as it goes over the wire. */
async function round(
  params: Record<string, unknown>,
  { token = shop.agent.token, capabilities = LEADS as object } = {},
) {
  const { headers, message } = modern('tools/call', params, capabilities)
  return (await send(shop.call, message, { token, headers })).body
}

const order = (id: number) => ({ name: 'agent_checkout', arguments: { catalog_item_id: id, arguments: OSLO } })

test('sends the user to the approval, and continues the call after it', async () => {
  shop = await newMcpShop()
  const { call, payer, item } = shop
  const led: string[] = []
  const client = await shop.client('2026-07-28', {
    async elicit({ mode, url, message }) {
      expect([mode, message]).toEqual(['url', expect.stringContaining('City weather')])
      led.push(url)
      // They go there, and take a moment.
      setTimeout(() => void answerApproval(call, payer, idIn(url)), 200)
      return { action: 'accept' }
    },
  })
  const receipt = await done(client, 'agent_checkout', order(item.id).arguments)
  expect([receipt.status, led.length]).toEqual(['paid', 1])
  expect(await done(client, 'approval_status', { approval_id: idIn(led[0] as string) })).toMatchObject({
    status: 'spent',
  })
  expect(await heldBy(call, shop)).toEqual([9.75, 10])
})

test('charges nothing if the user rejects or does not open the approval', async () => {
  shop = await newMcpShop({ featured: true })
  const { call, payer, own } = shop
  const rejecting = await shop.client('2026-07-28', {
    path: own,
    async elicit({ url }) {
      await answerApproval(call, payer, idIn(url), 'reject')
      return { action: 'accept' }
    },
  })
  expect(await refused(rejecting, 'city_weather', OSLO)).toMatchObject({
    code: 'approval_not_given',
    approval_status: 'rejected',
  })
  const staying = await shop.client('2026-07-28', { path: own, elicit: async () => ({ action: 'decline' }) })
  expect(await refused(staying, 'city_weather', OSLO)).toMatchObject({ code: 'approval_not_given' })
  expect(await heldBy(call, shop)).toEqual([10, 10])
})

test("the client's state works only for the same call of the same user and app", async () => {
  shop = await newMcpShop()
  const { call, payer, item } = shop
  const asked = (await round(order(item.id))).result
  expect(asked).toMatchObject({
    resultType: 'input_required',
    inputRequests: { approval: { params: { mode: 'url' } } },
  })
  const { requestState } = asked
  const { url } = asked.inputRequests.approval.params
  await answerApproval(call, payer, idIn(url))
  const answered = { requestState, inputResponses: { approval: { action: 'accept' } } }
  const refusal = { error: { code: -32602 } }
  const tampered = requestState.slice(0, -1) + (requestState.endsWith('0') ? '1' : '0')
  expect(await round({ ...order(item.id), ...answered, requestState: tampered })).toMatchObject(refusal)
  const bergen = { ...order(item.id).arguments, arguments: { city: 'Bergen' } }
  expect(await round({ name: 'agent_checkout', arguments: bergen, ...answered })).toMatchObject(refusal)
  const { token } = await anotherAgent(call, payer)
  expect(await round({ ...order(item.id), ...answered }, { token })).toMatchObject(refusal)
  expect(await round({ ...order(item.id), ...answered })).toMatchObject({
    result: { structuredContent: { status: 'paid' } },
  })
  // It does not pay twice: the approval is spent.
  expect(await round({ ...order(item.id), ...answered })).toMatchObject({
    result: { isError: true, structuredContent: { code: 'approval_spent' } },
  })
  expect(await heldBy(call, shop)).toEqual([9.75, 10])
})

test('waits for a slow user in rounds, and finally tells the agent how to continue', async () => {
  // A hundred times as fast as they are.
  const alarm = {
    set(ms: number, ring: () => void) {
      const timer = setTimeout(ring, ms / 100)
      return () => clearTimeout(timer)
    },
  }
  shop = await newMcpShop({}, { alarm })
  const { item } = shop
  let { requestState } = (await round(order(item.id))).result
  for (let waits = 0; waits < 6; waits++) {
    const inputResponses = waits === 0 ? { approval: { action: 'accept' } } : undefined
    const { result } = await round({ ...order(item.id), requestState, ...(inputResponses && { inputResponses }) })
    expect([result.resultType, result.inputRequests]).toEqual(['input_required', undefined])
    requestState = result.requestState
  }
  const { result } = await round({ ...order(item.id), requestState })
  expect(result).toMatchObject({
    isError: true,
    structuredContent: {
      ...{ code: 'approval_not_given', approval_status: 'pending', approval_id: expect.any(String) },
      url: expect.stringContaining('/approvals/'),
    },
  })
})

test('tells a client that opens no URLs where its user approves', async () => {
  shop = await newMcpShop()
  const { call, payer, item } = shop
  const capabilities = { elicitation: { form: {} } }
  const { result } = await round(order(item.id), { capabilities })
  const { approval_id, url, error } = result.structuredContent
  expect(result).toMatchObject({ isError: true, structuredContent: { code: 'approval_required' } })
  expect([url, error]).toEqual([`${shop.service.baseUrl}/approvals/${approval_id}`, expect.stringContaining(url)])
  const earlier = await shop.client('2025-11-25')
  const { arguments: args } = order(item.id)
  expect(await refused(earlier, 'agent_checkout', args)).toMatchObject({ code: 'approval_required', approval_id, url })
  await answerApproval(call, payer, approval_id)
  expect(await done(earlier, 'agent_checkout', { ...args, approval_id })).toMatchObject({ status: 'paid' })
  expect(await heldBy(call, shop)).toEqual([9.75, 10])
})

/** A client of 2025-11-25 that opens URLs, and what it hears. */
async function newLedClient(options: { token?: string; path?: string } = {}) {
  const completed: string[] = []
  const client = await shop.client('2025-11-25', { ...options, elicit: async () => ({ action: 'accept' }) })
  client.setNotificationHandler('notifications/elicitation/complete', ({ params }) => {
    completed.push(params.elicitationId)
  })
  const led = (id: number): Promise<any> =>
    client.callTool(order(id)).then(
      ({ structuredContent }) => expect.fail(JSON.stringify(structuredContent)),
      (error: { code: number; data: any }) => {
        expect(error.code).toBe(-32042)
        return error.data.elicitations[0]
      },
    )
  return { client, completed, led }
}

test('leads a client of 2025-11-25 to the approval, and the repeated call pays once', async () => {
  shop = await newMcpShop()
  const { call, payer, item } = shop
  const { client, led } = await newLedClient()
  const asked = await led(item.id)
  const { elicitationId } = asked
  expect(asked).toEqual({
    mode: 'url',
    elicitationId,
    url: `${shop.service.baseUrl}/approvals/${elicitationId}`,
    message: expect.stringContaining('City weather'),
  })
  await answerApproval(call, payer, elicitationId)
  const calls = await Promise.all([client.callTool(order(item.id)), client.callTool(order(item.id))].map(settled))
  expect(calls.filter((one) => one.paid)).toHaveLength(1)
  expect((await led(item.id)).elicitationId).not.toBe(elicitationId)
  expect(await heldBy(call, shop)).toEqual([9.75, 10])
})

const settled = (one: Promise<{ structuredContent?: any }>) =>
  one.then(
    ({ structuredContent }) => ({ paid: structuredContent.status === 'paid' }),
    () => ({ paid: false }),
  )

test('a repeated call waits for its user, and says that they have answered', async () => {
  const { isWaiting } = await newWatchedShop()
  const { call, payer, item } = shop
  const { client, completed, led } = await newLedClient()
  const { elicitationId } = await led(item.id)
  const waiting = done(client, 'agent_checkout', order(item.id).arguments)
  await isWaiting
  await answerApproval(call, payer, elicitationId)
  expect([(await waiting).status, completed]).toEqual(['paid', [elicitationId]])
})

test('does not lead the user to what they have just rejected, unless the agent asks for it', async () => {
  shop = await newMcpShop()
  const { call, payer, item } = shop
  const { client, led } = await newLedClient()
  const { elicitationId: approval_id } = await led(item.id)
  await answerApproval(call, payer, approval_id, 'reject')
  const { arguments: args } = order(item.id)
  const rejected = { code: 'approval_not_given', approval_status: 'rejected', approval_id }
  for (const _ of [1, 2]) expect(await refused(client, 'agent_checkout', args)).toMatchObject(rejected)
  const again = await done(client, 'request_approval', { kind: 'purchase', ...args })
  expect(again).toMatchObject({ status: 'pending', approval_id: expect.not.stringMatching(approval_id) })
  await advance(call, '16m')
  expect((await led(item.id)).elicitationId).not.toBe(approval_id)
})

test("a session of another user or app, or one that is made up, is no one's", async () => {
  shop = await newMcpShop()
  const { call, item, agent, payer, seller } = shop
  const hello = { protocolVersion: '2025-11-25', capabilities: LEADS, clientInfo: CLIENT }
  const begun = await send(call, { id: 1, method: 'initialize', params: hello }, agent)
  const session = begun.headers.get('mcp-session-id') as string
  expect(session).toMatch(/^[0-9a-f.]+$/)
  const asking = async (sessionId: string, { token } = agent) => {
    const message = { id: 2, method: 'tools/call', params: order(item.id) }
    return messageIn(await send(call, message, { token, headers: { 'mcp-session-id': sessionId } }))
  }
  expect(await asking(session)).toMatchObject({ error: { code: -32042 } })
  const others = [
    await anotherAgent(call, payer),
    await anotherAgent(call, await newPayer(call, seller, { balance: 1 })),
  ]
  const refusal = { result: { structuredContent: { code: 'approval_required' } } }
  for (const other of others) expect(await asking(session, other)).toMatchObject(refusal)
  for (const wrong of ['', 'x', `${session}0`, session.replace('.', '..')])
    expect(await asking(wrong)).toMatchObject(refusal)
  const plain = { ...hello, capabilities: { elicitation: {} } }
  const without = await send(call, { id: 1, method: 'initialize', params: plain }, agent)
  expect(without.headers.get('mcp-session-id')).toBeNull()
})

test('refuses more questions from an app that has too many open', async () => {
  shop = await newMcpShop()
  const { item } = shop
  for (let n = 0; n < 20; n++) expect((await round(order(item.id))).result.resultType).toBe('input_required')
  const { result } = await round(order(item.id))
  expect(result).toMatchObject({ isError: true, structuredContent: { code: 'too_many_pending' } })
})

/** A shop that says when a call has begun to wait for its user. */
async function newWatchedShop() {
  let begun: () => void
  const isWaiting = new Promise<void>((resolve) => {
    begun = resolve
  })
  const set = (ms: number, ring: () => void) => {
    if (ms === 20_000) begun()
    const timer = setTimeout(ring, ms)
    return () => clearTimeout(timer)
  }
  shop = await newMcpShop({}, { alarm: { set } })
  return { isWaiting }
}

test('an app that is disconnected while its call waits pays nothing, and the approval ends', async () => {
  const { isWaiting } = await newWatchedShop()
  const { call, payer, item } = shop
  const { inputRequests, requestState } = (await round(order(item.id))).result
  const waiting = round({ ...order(item.id), requestState, inputResponses: { approval: { action: 'accept' } } })
  await isWaiting
  const { connections } = (await call('GET', '/v4/connections', payer)).body
  await call('DELETE', `/v4/connections/${connections[0].id}`, payer)
  const id = idIn(inputRequests.approval.params.url)
  expectProblem(await answerApproval(call, payer, id), 409, 'not_pending')
  expect((await waiting).result).toMatchObject({ isError: true, structuredContent: { code: 'token_invalid' } })
  expect(await heldBy(call, shop)).toEqual([10, 10])
})

test('an app that loses its account while its call waits does not change the account', async () => {
  const { isWaiting } = await newWatchedShop()
  const { call } = shop
  const { agent, seller, session } = await newBusiness(call)
  const tool = { name: 'Rain', description: 'Rain.', price_per_call: 1, service_url: 'https://api.example.test/rain' }
  const params = { name: 'register_tool', arguments: tool }
  const { inputRequests, requestState } = (await round(params, agent)).result
  const waiting = round({ ...params, requestState, inputResponses: { approval: { action: 'accept' } } }, agent)
  await isWaiting
  const { url } = (await call('POST', '/v4/agent/account-choice', agent)).body
  await fill(call, pathOf(url), session, { answer: 'choose', account: 'none' })
  await pressApproval(call, session, idIn(inputRequests.approval.params.url), { answer: 'approve' })
  expect((await waiting).result).toMatchObject({ isError: true, structuredContent: { code: 'account_not_granted' } })
  expect((await call('GET', '/v4/catalog/mine', seller)).body.items).toEqual([])
})
