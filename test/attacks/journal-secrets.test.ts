import { expect, onTestFinished, test } from 'vitest'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newItem, purchase, putParameters } from '../support/scenes/catalog.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

/** Somebody who is shown a journal or an export of it: a bug report, a log, a coding agent. */

test('the journal shows no secret value in the address of an upstream call', async () => {
  const service = createService({
    sandbox: true,
    upstream: { fetch: async () => Response.json({ ok: 1 }) },
  })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 5 })
  const item = await newItem(call, seller, {
    external_endpoint: 'https://api.example.test/w/{secret.path}/{input.city}?key={secret.key}',
  })
  const secret = 'sEcReT/ü 42'
  await putParameters(call, seller, item, [
    { kind: 'url', name: 'path', value: secret, sensitive: true },
    { kind: 'url', name: 'key', value: secret, sensitive: true },
  ])
  expect((await purchase(call, payer, item, { arguments: { city: 'Oslo' } })).status).toBe(201)
  const { text } = await call('GET', '/_sandbox/requests?limit=1000')
  expect(text).not.toContain('sEcReT')
  expect(text).toContain('GET https://api.example.test/w/{secret.path}/Oslo"')
})
