import { expect, it } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { type Call, caller } from '../../support/api.js'
import { expectProblem } from '../../support/scenes/market.js'
import { newSeller } from '../../support/scenes/world.js'

it('a tool is created once with its Idempotency-Key, which fails with a different body or encryption key', async () => {
  const storage = memoryStorage()
  const [one, other] = ['11', '22'].map((byte) => {
    const service = createService({ storage, sandbox: true, encryptionKey: byte.repeat(32) })
    return caller({ url: service.baseUrl, fetch: service.fetch })
  }) as [Call, Call]
  const { token } = await newSeller(one)
  const tool = { name: 'Weather', description: '', price_per_call: 0.1, service_url: 'https://api.example.test/' }
  const post = (call: Call, body: object) =>
    call('POST', '/v4/mcp/tools', { token, body, headers: { 'idempotency-key': 'once' } })
  expect((await post(one, tool)).status).toBe(201)
  expectProblem(await post(one, { ...tool, name: 'Rain' }), 422, 'idempotency_mismatch')
  expectProblem(await post(other, tool), 409, 'idempotency_unreadable')
  expectProblem(await one('GET', '/.well-known/oauth-protected-resource/mcp/x'), 404, 'not_found')
})
