import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createService, type Service } from 'farthing'
import { client } from 'farthing/client'
import { nodeUpstream, type Served, serve } from 'farthing/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../src/connection.js'
import { buy } from '../src/shopper.js'

// The seller's endpoint. It knows nothing about payments.
const forecast = createServer((request, response) => {
  const town = new URL(request.url ?? '', 'http://127.0.0.1').searchParams.get('town')
  response.end(`Rain in ${town}.`)
})

let service: Service
let server: Served
beforeAll(async () => {
  await new Promise<void>((listening) => forecast.listen(0, '127.0.0.1', listening))
  const create = (baseUrl: string) => (service = createService({ baseUrl, sandbox: true, upstream: nodeUpstream() }))
  server = await serve(create, { port: 0 })
  const { accounts } = await service.sandbox.seed({
    accounts: [{ name: 'The Weather' }],
    users: [{ email: 'ada@example.test', balance: 1 }],
  })
  await client(service)
    .as(accounts[0])
    .catalogItems.create({
      name: 'Forecast',
      description: 'The weather of a town, today.',
      price: 0.1,
      service_method: 'GET',
      external_endpoint: `http://127.0.0.1:${(forecast.address() as AddressInfo).port}/`,
      service_schema: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] },
    })
})
afterAll(async () => {
  await server.close()
  await service.close()
  forecast.close()
})

/** Ada signs in, lets the agent connect, and answers what it asks for. */
async function ada(answer: 'approve' | 'reject') {
  const { headers } = await service.sandbox.signIn('ada@example.test')
  return async (url: string) => {
    if (url.includes('/approvals/')) return void (await service.sandbox.approvals.next()[answer]())
    const asked = await fetch(url, { headers, redirect: 'manual' })
    const consent = asked.headers.get('location') ?? ''
    const body = new URLSearchParams({ answer: 'allow', account: 'none' })
    const allowed = await fetch(consent, { method: 'POST', headers, body, redirect: 'manual' })
    await fetch(allowed.headers.get('location') ?? '')
  }
}

const errand = { query: 'weather', arguments: { town: 'Bath' }, mostPrice: 0.1 }

test('the agent buys what its user approves', async () => {
  const agent = await connect(`${server.url}/mcp`, await ada('approve'))
  expect(await buy(agent, errand)).toMatchObject({ amount: 0.1, response: { body: 'Rain in Bath.' } })
  await agent.close()
})

test('it pays nothing if its user rejects, or if the price is too high', async () => {
  const agent = await connect(`${server.url}/mcp`, await ada('reject'))
  await expect(buy(agent, errand)).rejects.toThrow('reject')
  await expect(buy(agent, { ...errand, mostPrice: 0.05 })).rejects.toThrow('Nobody sells "weather" for 0.05 or less.')
  await agent.close()
})
