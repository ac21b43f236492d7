import 'fake-indexeddb/auto'
import { expect, onTestFinished, test } from 'vitest'
import { indexedDbStorage } from '../../adapters/storage/indexeddb.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { type Storage, StorageUnavailable } from '../../src/storage/storage.js'
import { type Call, caller } from '../support/api.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../support/scenes/world.js'
import { lockManager } from '../support/storage/locks.js'

function start(storage: Storage) {
  const service = createService({ storage, sandbox: true, limits: { closeMs: 50 }, log: { error() {} } })
  onTestFinished(() => service.close())
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

/** A storage as someone else would write it: it promises no more than it must. */
function foreign(parts: Partial<Storage> = {}): Storage {
  const { fork: _, watchCommits: __, ...base } = memoryStorage()
  return { ...base, name: 'foreign', exclusive: false, ...parts }
}

async function market(call: Call) {
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 5 })
  const pay = () => call('POST', `/v4/payment/${hash}`, { token: payer.token })
  return { pay, balance: () => balanceOf(call, payer.token, payer.hostname), payer }
}

const rewind = (call: Call, to: string | null) => call('POST', '/_sandbox/rewind', { body: { to } })

test('where many processes share the storage, a fork copies into memory, and nothing takes the state back', async () => {
  const { service, call } = start(foreign({ isShared: true }))
  const { pay, balance, payer } = await market(call)
  expect((await call('POST', '/_sandbox/snapshots', { body: { name: 'start' } })).status).toBe(201)
  const id = (await pay()).headers.get('x-request-id')
  for (const to of ['start', id, 'none']) {
    const refused = await rewind(call, to)
    expectProblem(refused, 409, 'rewind_refused')
    expect(refused.body.error).toContain('fork')
  }
  expect(await balance()).toBe(4.75)

  const fork = await service.sandbox.fork()
  onTestFinished(() => fork.close())
  expect(fork.sandbox.health().storage).toBe('memory')
  const inFork = caller({ url: fork.baseUrl, fetch: fork.fetch })
  await fork.sandbox.fund({ hostname: payer.hostname, amount: 3 })
  expect(await balanceOf(inFork, payer.token, payer.hostname)).toBe(7.75)
  expect(await balance()).toBe(4.75)
  // It is alone with its state, so it may go back.
  await fork.sandbox.snapshots.save('seven')
  await fork.sandbox.fund({ hostname: payer.hostname, amount: 1 })
  await fork.sandbox.rewind('seven')
  expect(await balanceOf(inFork, payer.token, payer.hostname)).toBe(7.75)
  await expectSoundLedger(call)
})

test('where others may write unseen, a sandbox returns to snapshots alone', async () => {
  const { call } = start(foreign())
  const { pay, balance } = await market(call)
  await call('POST', '/_sandbox/snapshots', { body: { name: 'start' } })
  const id = (await pay()).headers.get('x-request-id')
  await pay()
  const refused = await rewind(call, id)
  expectProblem(refused, 409, 'rewind_refused')
  expect(refused.body.error).toContain('POST /_sandbox/snapshots')
  expect(await balance()).toBe(4.5)
  expect((await rewind(call, 'start')).status).toBe(204)
  expect(await balance()).toBe(5)
})

test('two tabs over one IndexedDB: a tab returns to its requests until the other one writes', async () => {
  const shared = { name: crypto.randomUUID(), locks: lockManager() }
  const [one, two] = [start(indexedDbStorage(shared)), start(indexedDbStorage(shared))]
  const { pay, balance } = await market(one.call)
  const id = (await pay()).headers.get('x-request-id')
  await pay()
  expect((await rewind(one.call, id)).status).toBe(204)
  expect(await balance()).toBe(4.75)
  const again = (await pay()).headers.get('x-request-id')
  await two.call('POST', '/v4/account')
  const refused = await rewind(one.call, again)
  expectProblem(refused, 409, 'rewind_refused')
  expect(refused.body.error).toContain('Another tab has written')
  expect(await balance()).toBe(4.5)
  const later = (await pay()).headers.get('x-request-id')
  await pay()
  expect((await rewind(one.call, later)).status).toBe(204)
  expect(await balance()).toBe(4.25)
  await expectSoundLedger(one.call)
})

test('the health of a storage may change while it runs', async () => {
  let fault: StorageUnavailable | undefined
  const base = foreign()
  const storage: Storage = {
    ...base,
    get fault() {
      return fault
    },
    write: (body) => (fault ? Promise.reject(fault) : base.write(body)),
  }
  const { call, service } = start(storage)
  const { pay, balance } = await market(call)
  const health = async () => (await call('GET', '/_sandbox/health')).status
  for (let round = 0; round < 2; round++) {
    expect([await health(), service.sandbox.health().ok]).toEqual([200, true])
    fault = new StorageUnavailable('ENOSPC at /private/data', { reason: 'the disk is full' })
    const ill = await call('GET', '/_sandbox/health')
    expectProblem(ill, 503, 'storage_unavailable')
    expect([ill.text, service.sandbox.health()]).toEqual([
      expect.not.stringContaining('/private/data'),
      expect.objectContaining({ ok: false, fault: 'the disk is full' }),
    ])
    expectProblem(await pay(), 503, 'storage_unavailable')
    expect(await balance()).toBe(5 - round * 0.25)
    // Reads go on, and so do forks, which are in memory.
    const fork = (await call('POST', '/_sandbox/forks')).body
    expect((await call('GET', `/_sandbox/forks/${fork.id}/_sandbox/health`)).status).toBe(200)
    fault = undefined
    expect((await pay()).status).toBe(202)
  }
})
