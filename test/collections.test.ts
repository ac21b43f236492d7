import { expect, it } from 'vitest'
import { memoryStorage } from '../adapters/storage/memory.js'
import { collections } from '../src/collections.js'
import { createService } from '../src/index.js'
import { caller } from './support/api.js'
import { newAgent, newApp, startInteraction } from './support/oidc.js'
import { ask } from './support/second-factor.js'
import { basic, newCommodity, newPayer, newSeller, newSession } from './support/world.js'

it('lists every collection that the service keeps rows in, each once', async () => {
  const storage = memoryStorage()
  const service = createService({ storage, sandbox: true })
  const url = 'http://127.0.0.1:4242'
  const call = caller({ url, fetch: (request) => service.fetch(request), close: () => service.close() })
  const seller = await newSeller(call)
  const { hash, dq } = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 1 })
  await call('POST', `/v4/payment/${hash}`, { token: payer.token, headers: { 'idempotency-key': 'once' } })
  await call('POST', '/v2/twin/nonce', { token: payer.token, body: { hostname: payer.hostname } })
  await call('POST', '/v4/account/register', { body: { dq, email: 'owner@example.test' } })
  await call('POST', '/v4/account/oauth/token', { headers: basic(seller.clientId, 'mc_wrong') })
  await newSession(call, 'reader@example.test')
  await newAgent(call)
  await startInteraction(call, await newApp(call))
  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  await call('POST', `/_sandbox/devices/${payer.id}`, { body: { mode: 'approve', after_seconds: 60 } })
  await ask(call, payer)
  await call('POST', '/_sandbox/clock', { body: { advance: '1s' } })

  const kept = Object.keys((await storage.export()).rows)
  expect(collections.map(({ name }) => name).sort()).toEqual(kept.sort())
  await service.close()
})
