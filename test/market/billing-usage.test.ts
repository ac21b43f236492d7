import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { Problem } from '../../src/base/problem.js'
import { createService } from '../../src/index.js'
import { countMcpCall } from '../../src/market/plans/plan.js'
import { caller } from '../support/api.js'
import { Subscriber, VISA } from '../support/scenes/billing.js'
import { newSeller } from '../support/scenes/world.js'

async function prepared() {
  const storage = memoryStorage()
  const service = createService({ storage, sandbox: true })
  const { sandbox } = service
  await sandbox.setClock({ mode: 'manual' })
  await sandbox.setClock({ set: Date.UTC(2031, 0, 20) })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const account = new Subscriber(call, await newSeller(call))
  const { id } = account.seller
  const count = (day: string) => storage.write((tx) => countMcpCall(tx, id, Date.parse(`${day}T00:00:00Z`)))
  const countMany = async (day: string, times: number) => {
    for (let n = 0; n < times; n++) await count(day)
  }
  const used = async () => (await account.billing()).usage.mcp_calls
  return { service, sandbox, account, count, countMany, used }
}

test('the free plan allows a thousand MCP calls in a calendar month, and says when the next month begins', async () => {
  const { service, count, countMany, used } = await prepared()
  await countMany('2031-01-20', 999)
  await count('2031-01-31')
  expect(await used()).toEqual({ used: 1000, limit: 1000 })
  const refused = await count('2031-01-31').catch((problem: Problem) => problem)
  expect(refused).toMatchObject({ code: 'plan_limit_reached', status: 403 })
  const { body } = refused as Problem
  expect(body).toMatchObject({ of: 'mcp_calls', plan: 'free', limit: 1000, used: 1000 })
  expect(body).toMatchObject({ resets_at: Date.UTC(2031, 1) / 1000 })
  expect(body.error).toContain('2031-02-01T00:00:00.000Z')
  await count('2031-02-01')
  await service.close()
})

test('a paid plan counts usage by its billing months', async () => {
  const { service, sandbox, account, count, countMany, used } = await prepared()
  await countMany('2031-01-20', 1000)
  await account.chosen('growth', VISA)
  expect(await used()).toEqual({ used: 0, limit: 50_000 })
  await count('2031-02-19')
  await sandbox.setClock({ set: Date.UTC(2031, 1, 19) })
  await account.chosen('scale')
  expect(await used()).toEqual({ used: 1, limit: 1_000_000 })
  await sandbox.setClock({ set: Date.UTC(2031, 1, 20) })
  expect(await used()).toEqual({ used: 0, limit: 1_000_000 })
  await service.close()
})

test('items that are active when a plan ends stay active, but no more can be added', async () => {
  const { service, sandbox, account } = await prepared()
  const item = { name: 'A', description: '', price: 0, service_method: 'GET', service_schema: { type: 'object' } }
  const add = () =>
    account.call('POST', '/v4/catalog/items', {
      token: account.seller.token,
      body: { ...item, external_endpoint: 'https://api.example.test/' },
    })
  await account.chosen('growth', VISA)
  for (let n = 0; n < 30; n++) expect((await add()).status).toBe(201)
  await account.chosen('free')
  await sandbox.setClock({ set: Date.UTC(2031, 1, 20) })
  expect((await account.billing()).usage.active_items).toEqual({ used: 30, limit: 25 })
  const refused = await add()
  expect([refused.status, refused.body.used, refused.body.limit]).toEqual([403, 30, 25])
  await service.close()
})
