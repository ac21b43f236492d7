import { expect, onTestFinished, test } from 'vitest'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { send } from '../support/mcp/mcp.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

/** `caller` holds each answer to the document, also those that no route makes itself. */

test.each([
  [404, '{"gone":true}', 'application/json'],
  [404, 'gone', 'text/plain'],
  [400, '[]', 'application/json'],
  [418, 'tea', 'text/plain'],
] as const)('the document lists what an upstream service answers with %s as %s', async (status, text, type) => {
  const upstream = { fetch: async () => new Response(text, { status, headers: { 'content-type': type } }) }
  const service = createService({ sandbox: true, upstream })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const { dq, hostname } = await newCommodity(call, seller)
  const { token } = await newPayer(call, seller, { balance: 5 })
  const body = { amount: 0.1, dq, destination: hostname, serviceUrl: 'https://api.example.test/' }
  expect((await call('POST', '/v4/paywall', { token, body })).status).toBe(status)
})

test('the document lists what an MCP server answers to a notification and to a message that is none', async () => {
  const service = createService({ sandbox: true })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const to = { path: '/_sandbox/mcp' }
  expect((await send(call, { method: 'notifications/initialized' }, to)).status).toBe(202)
  const versions = { ...to, headers: { 'mcp-protocol-version': '1999-01-01' } }
  expect((await send(call, { id: 1, method: 'tools/list', params: {} }, versions)).status).toBe(400)
  for (const headers of [{ accept: 'text/html' }, { 'mcp-method': 'other' }, { 'mcp-protocol-version': '2026-07-28' }])
    await send(call, { id: 1, method: 'tools/list', params: {} }, { ...to, headers })
})
