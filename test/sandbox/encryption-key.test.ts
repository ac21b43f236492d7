import { expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Storage } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { newItem, putParameters } from '../support/scenes/catalog.js'
import { expectProblem } from '../support/scenes/market.js'
import { newSeller, type Seller } from '../support/scenes/world.js'

const encryptionKey = '0123456789abcdef'.repeat(4)

function start(storage: Storage) {
  const service = createService({ storage, encryptionKey, sandbox: true })
  onTestFinished(() => service.close())
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

/** An item of a seller with a secret parameter. */
async function withSecret(call: Call, seller: Seller) {
  const item = await newItem(call, seller)
  const put = () => putParameters(call, seller, item, [{ kind: 'header', name: 'x-key', value: 'secret' }])
  await put()
  const valueAt = async ({ call }: ReturnType<typeof start>) => {
    const { body } = await call('GET', `/v4/catalog/items/${item.id}/parameters`, { token: seller.token })
    return body.parameters[0].value
  }
  return { put, valueAt }
}

/** A service whose key an option sets, and an item with a secret parameter. */
async function selling() {
  // Closing a storage in memory loses it.
  const storage = { ...memoryStorage(), close: async () => {} }
  const { service, call } = start(storage)
  const seller = await newSeller(call)
  return { storage, service, call, seller, own: { service, call }, ...(await withSecret(call, seller)) }
}

test('a key that an option sets stays forgotten after a restart, and what is encrypted since can be read', async () => {
  const { storage, service, put, valueAt, own } = await selling()
  await service.sandbox.forgetEncryptionKey()
  expect(await valueAt(own)).toBeNull()
  expect(await valueAt(start(storage))).toBeNull()
  await put()
  expect(await valueAt(start(storage))).toBe('secret')
})

test('a reset keeps the key, a snapshot from before it was forgotten brings it back, and one from after does not', async () => {
  const { storage, service, call, seller, put, valueAt, own } = await selling()
  const before = await service.sandbox.snapshot()
  await service.sandbox.forgetEncryptionKey()
  await put()
  const after = await service.sandbox.snapshot()
  await service.sandbox.reset()
  expectProblem(await call('GET', '/v4/account', { token: seller.token }), 401, 'token_invalid')
  const anew = await withSecret(call, await newSeller(call))
  expect([await anew.valueAt(own), await anew.valueAt(start(storage))]).toEqual(['secret', 'secret'])
  await service.sandbox.restore(before)
  expect([await valueAt(own), await valueAt(start(storage))]).toEqual(['secret', 'secret'])
  await service.sandbox.restore(after)
  expect([await valueAt(own), await valueAt(start(storage))]).toEqual(['secret', 'secret'])
  // A sandbox that was never told to forget it has the same key.
  const other = start(memoryStorage())
  await other.service.sandbox.restore(after)
  expect(await valueAt(other)).toBe('secret')
})

test('a snapshot whose salt of the key is none is refused', async () => {
  const { service } = await selling()
  await service.sandbox.forgetEncryptionKey()
  const { rows, ...state } = await service.sandbox.snapshot()
  const settings = rows.settings?.map((row) => (row.id === 'key_salt' ? { ...row, value: 7 } : row)) ?? []
  const wrong = service.sandbox.restore({ ...state, rows: { ...rows, settings } })
  await expect(wrong).rejects.toMatchObject({ code: 'snapshot_refused' })
})

test('a request from before the key was forgotten is replayed in a fork with the key of then', async () => {
  const { service, call, seller, own, valueAt } = await selling()
  await valueAt(own)
  const { requests } = (await call('GET', '/_sandbox/requests?operation_id=listDispatchParameters')).body
  const id = requests[0]?.id ?? ''
  await service.sandbox.forgetEncryptionKey()
  const { diff, entry } = await service.sandbox.requests.replay(id, { in: 'fork', diff: true })
  expect([seller.token !== '', entry.status, diff]).toEqual([true, 200, []])
})
