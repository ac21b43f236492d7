import { afterEach, expect, test } from 'vitest'
import { done, modern, refused, send } from '../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../support/mcp/mcp-shop.js'
import { newBusiness, pathOf, pressApproval } from '../support/scenes/account-changes.js'
import { anotherAgent, answerApproval, heldBy } from '../support/scenes/approvals.js'
import { expectProblem } from '../support/scenes/market.js'
import { fill } from '../support/scenes/oidc.js'

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
    structuredContent: { code: 'approval_not_given', approval_status: 'pending', approval_id: expect.any(String) },
  })
})

test('tells a client without URL elicitation, or of an earlier revision, what to request', async () => {
  shop = await newMcpShop()
  const { item } = shop
  const { result } = await round(order(item.id), { capabilities: { elicitation: { form: {} } } })
  expect(result).toMatchObject({ isError: true, structuredContent: { code: 'approval_required' } })
  const earlier = await shop.client('2025-11-25', { elicit: async () => ({ action: 'accept' }) })
  expect(await refused(earlier, 'agent_checkout', order(item.id).arguments)).toMatchObject({
    code: 'approval_required',
  })
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
