import 'fake-indexeddb/auto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileStorage } from '../../adapters/storage/file.js'
import { indexedDbStorage } from '../../adapters/storage/indexeddb.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service, type ServiceOptions, type Storage } from '../../src/index.js'
import { OutcomeUnknown, type Writer } from '../../src/storage/storage.js'
import { type Call, type CallOptions, caller } from '../support/api.js'
import { newItem } from '../support/scenes/catalog.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../support/scenes/world.js'
import { watchDisk } from '../support/storage/disk.js'
import { lockManager } from '../support/storage/locks.js'

const upstream = useUpstream()
const log = { error() {} }

/** A service whose storage loses answers: writes land, but the caller is told that the outcome is unknown. */
function losing(options: Partial<ServiceOptions> = {}) {
  const inner = memoryStorage()
  const losses = { left: 0, after: 0 }
  const storage: Storage = {
    ...inner,
    async write<T>(body: (tx: Writer) => Promise<T>) {
      const value = await inner.write(body)
      if (losses.left === 0 || losses.after-- > 0) return value
      losses.left--
      throw new OutcomeUnknown('The connection was lost.')
    },
  }
  const service = createService({ sandbox: true, ...options, storage, log })
  return { service, losses, call: callOf(service) }
}

const callOf = ({ baseUrl: url, fetch }: Pick<Service, 'baseUrl' | 'fetch'>): Call =>
  caller({ url, fetch: (request) => fetch(request) })

const keyed = (token: string, key = 'k'): CallOptions => ({ token, headers: { 'idempotency-key': key } })

describe('a write with an unknown outcome', () => {
  it('is never reported as without effect, and the same key pays once', async () => {
    const { service, call, losses } = losing()
    const seller = await newSeller(call)
    const { hash } = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 1 })
    const pay = (options: CallOptions) => call('POST', `/v4/payment/${hash}`, options)
    losses.left = 1
    const lost = await pay(keyed(payer.token))
    expectProblem(lost, 503, 'outcome_unknown')
    expect(lost.body.error).toContain('Retry with the same Idempotency-Key')
    const again = await pay(keyed(payer.token))
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(0.75)

    losses.left = 1
    const unkeyed = await pay({ token: payer.token })
    expectProblem(unkeyed, 503, 'outcome_unknown')
    expect(unkeyed.body.error).toContain('Before you retry')
    await service.close()
  })

  it.each([
    ['POST', '/v4/account', 'account_creation_failed'],
    ['POST', '/v4/account/register', 'provisioning_failed'],
  ])('%s %s does not report it as %s', async (method, path) => {
    const { service, call, losses } = losing()
    const [dq] = (await call('GET', '/v4/dq')).body.digital_quantities
    losses.left = 1
    const lost = await call(method, path, { body: { dq, email: 'new@example.test' } })
    expectProblem(lost, 503, 'outcome_unknown')
    expect(lost.text).not.toContain('nothing')
    await service.close()
  })

  it('is reported as without effect if it only stored the key, and the key is free for a retry', async () => {
    const { service, call, losses } = losing()
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller)
    const path = `/v4/twin/${payer.hostname}/topup`
    losses.left = 1
    const body = { amount: 5, payment_method_id: 'pm_card_visa' }
    expectProblem(await call('POST', path, { ...keyed(payer.token), body }), 503, 'storage_unavailable')
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(0)
    expect((await call('POST', path, { ...keyed(payer.token), body })).status).toBe(201)
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(5)
    await service.close()
  })

  it('happens in a file when its journal fails to sync; calls read meanwhile, and write once it syncs again', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'farthing-'))
    let isFailing = false
    const disk = await watchDisk({
      before(event) {
        if (isFailing && event.do === 'sync' && event.path.includes('.journal.')) throw new Error('this disk fails')
      },
    })
    const service = createService({
      sandbox: true,
      storage: await fileStorage({ file: join(directory, 'data.json'), warn: () => {} }),
      log,
    })
    const call = callOf(service)
    const seller = await newSeller(call)
    isFailing = true
    expectProblem(await call('POST', '/v4/twin', { token: seller.token, body: {} }), 400, 'field_invalid')
    expectProblem(await call('POST', '/v4/account'), 503, 'outcome_unknown')
    expectProblem(await call('POST', '/v4/account'), 503, 'storage_unavailable')
    expect((await call('GET', '/v4/account', { token: seller.token })).status).toBe(200)
    isFailing = false
    expect((await call('POST', '/v4/account')).status).toBe(201)
    await service.close()
    disk.stop()
    await rm(directory, { recursive: true })
  })

  it('happens in IndexedDB when a transaction aborts during its commit', async () => {
    const storage = indexedDbStorage({ name: 'commits', locks: lockManager() })
    const service = createService({ sandbox: true, storage, log })
    const call = callOf(service)
    await newSeller(call)
    const { put } = IDBObjectStore.prototype
    IDBObjectStore.prototype.put = function (...args) {
      IDBObjectStore.prototype.put = put
      const request = put.apply(this, args)
      request.addEventListener('success', () => this.transaction.abort())
      return request
    }
    expectProblem(await call('POST', '/v4/account'), 503, 'outcome_unknown')
    expect((await call('POST', '/v4/account')).status).toBe(201)
    await service.close()
  })
})

describe('a call of several transactions that fails in the middle', () => {
  it('reports that work started, and its key does not start it again', async () => {
    const { service, call, losses } = losing()
    const seller = await newSeller(call)
    const { id } = await newItem(call, seller, { external_endpoint: `${upstream.url}/ok`, price: 0.5 })
    const payer = await newPayer(call, seller, { balance: 5 })
    upstream.requests.length = 0
    const buy = () =>
      call('POST', `/v4/catalog/items/${id}/purchases`, {
        ...keyed(payer.token),
        body: { arguments: { city: 'Oslo' } },
      })
    // The key is taken, and the price held, before it fails.
    Object.assign(losses, { left: 1, after: 2 })
    const lost = await buy()
    expectProblem(lost, 503, 'outcome_unknown')
    expect(lost.body.transaction_id).toEqual(expect.any(Number))
    const again = await buy()
    expect(again.status).not.toBe(503)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(upstream.requests).toHaveLength(1)
    await expectSoundLedger(call)
    await service.close()
  })

  it('reports the same without a key', async () => {
    const { service, call, losses } = losing()
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller)
    losses.left = 1
    const body = { amount: 5, payment_method_id: 'pm_card_visa' }
    const lost = await call('POST', `/v4/twin/${payer.hostname}/topup`, { token: payer.token, body })
    expectProblem(lost, 503, 'outcome_unknown')
    expect(lost.body.payment_id).toEqual(expect.any(Number))
    expect(lost.body.error).toContain('GET /v4/events')
    await service.close()
  })
})

describe('an answer that cannot be written', () => {
  it('is not reported as a call without effect', async () => {
    const service = createService({ sandbox: true, log })
    let made = 0
    class Breaking extends Response {
      constructor(body?: BodyInit | null, init?: ResponseInit) {
        if (made++ === 0) throw new TypeError('a header holds what no header may')
        super(body, init)
      }
    }
    const request = new Request(`${service.baseUrl}/v4/account`, { method: 'POST' })
    const answer = await service.respond(request, { Response: Breaking })
    expect([answer.status, (await answer.json()).code]).toEqual([503, 'outcome_unknown'])
    expect((await service.sandbox.snapshot()).rows.accounts).toHaveLength(1)
    await service.close()
  })
})

describe('the keys of a service that ended in the middle of a call', () => {
  /** Two services over one database; the first waits for an upstream service that never answers. */
  async function stalled(name: string, locks: [Locks, Locks]) {
    let reached = () => {}
    const asked = new Promise<void>((resolve) => (reached = resolve))
    const ports = {
      fetch: () => {
        reached()
        return new Promise<Response>(() => {})
      },
    }
    const storages = locks.map((each) => indexedDbStorage({ name, locks: each }))
    const [first, second] = storages.map((storage) =>
      createService({ sandbox: true, storage, log, upstream: ports, encryptionKey: '11'.repeat(32) }),
    ) as [Service, Service]
    const call = callOf(first)
    const seller = await newSeller(call)
    const { hostname } = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 5 })
    const order = { amount: 1, destination: hostname, serviceUrl: 'http://127.0.0.1:9/never' }
    const pay = (by: Service) => callOf(by)('POST', '/v4/paywall', { ...keyed(payer.token), body: order })
    void pay(first).catch(() => {})
    await asked
    return { second, pay, end: () => storages[0]?.close() }
  }
  type Locks = ReturnType<typeof lockManager>

  it('stop being in progress at once: a retry gets the outcome', async () => {
    const locks = lockManager()
    const { second, pay, end } = await stalled('ended', [locks, locks])
    expectProblem(await pay(second), 409, 'idempotency_in_progress')
    await end()
    const answered = await pay(second)
    expectProblem(answered, 502, 'upstream_failed')
    expect(answered.headers.get('idempotent-replayed')).toBe('true')
    await second.close()
  })

  it('stay in progress while that service lives, however far the clock moves', async () => {
    const locks = lockManager()
    const { second, pay, end } = await stalled('living', [locks, locks])
    await second.sandbox.advance('6m')
    expectProblem(await pay(second), 409, 'idempotency_in_progress')
    await end()
    expect((await pay(second)).body.code).not.toBe('idempotency_in_progress')
    await second.close()
  })
})
