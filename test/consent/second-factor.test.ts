import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { hasDevice } from '../../src/consent/devices/device.js'
import { spendAwaited } from '../../src/consent/second-factor/await-second-factor.js'
import {
  type ApprovedAction,
  requestStatus,
  requireSecondFactor,
  type SecondFactorOrder,
  spendSecondFactor,
} from '../../src/consent/second-factor/request.js'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { DETAIL, registerDevice } from '../support/scenes/second-factor.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

/** What features are built on: the functions, over a storage that runs every write twice. */
async function world() {
  const storage = memoryStorage({ rerun: true })
  const service = createService({ storage, sandbox: true })
  const call = caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch })
  await service.sandbox.setClock({ mode: 'manual' })
  const at = Date.parse(service.sandbox.clock().now)
  const payer = await newPayer(call, await newSeller(call))
  const context = { random: { bytes: (count: number) => new Uint8Array(count).fill(7) }, baseUrl: service.baseUrl }
  const require = (order: Partial<SecondFactorOrder> = {}) =>
    storage.write((tx) =>
      requireSecondFactor(tx, { userId: payer.id, action: 'transfer', detail: DETAIL, at, ...order }, context),
    )
  const spend = (id: number, action: Partial<ApprovedAction> = {}) =>
    storage.write((tx) =>
      spendSecondFactor(tx, { id, userId: payer.id, action: 'transfer', detail: DETAIL, at, ...action }),
    )
  return { storage, service, call, at, payer, require, spend, phone: service.sandbox.phone(payer.id) }
}

test('an approval is spent once, by exactly the approved action', async () => {
  const { payer, require, spend, phone } = await world()
  const { id } = await require()
  expect(await spend(id)).toBe('pending')
  await phone.approve()
  const others: Partial<ApprovedAction>[] = [
    { userId: payer.id + 1 },
    { action: 'paywall' },
    { detail: { ...DETAIL, amount: 2.51 } },
    { detail: { ...DETAIL, payee: 'thief.example.test' } },
    { detail: { ...DETAIL, more: null } },
    { detail: {} },
  ]
  for (const other of others) expect(await spend(id, other), JSON.stringify(other)).toBe('mismatch')
  expect(await spend(id + 1)).toBe('mismatch')
  const { dq, amount, payee } = DETAIL
  expect(await spend(id, { detail: { dq, amount, payee } })).toBe('approved')
  for (let n = 0; n < 2; n++) expect(await spend(id)).toBe('spent')
})

test('only one of 20 simultaneous actions spends an approval', async () => {
  const { require, spend, phone } = await world()
  const { id } = await require()
  await phone.approve()
  const results = await Promise.all(Array.from({ length: 20 }, () => spend(id)))
  expect(results.toSorted()).toEqual(['approved', ...Array(19).fill('spent')])
})

test('a rejected or unanswered request cannot be spent', async () => {
  const { at, require, spend, phone } = await world()
  const rejected = await require()
  await phone.reject()
  expect(await spend(rejected.id)).toBe('rejected')
  const expired = await require({ lifetimeMs: 10_000 })
  expect(await spend(expired.id, { at: at + 9999 })).toBe('pending')
  expect(await spend(expired.id, { at: at + 10_000 })).toBe('expired')
})

test('an approval lasts five minutes', async () => {
  const { at, require, spend, phone } = await world()
  const [first, second] = [await require(), await require()]
  await phone.approve()
  // The clock was set back since the approval.
  expect(await spend(first.id, { at: at - 60_001 })).toBe('expired')
  expect(await spend(first.id, { at: at + 299_999 })).toBe('approved')
  expect(await spend(second.id, { at: at + 300_000 })).toBe('expired')
})

test('an approval is spent only in the session that requested it', async () => {
  const { require, spend, phone } = await world()
  const { id } = await require({ sessionId: 'ms_one' })
  await phone.approve()
  expect(await spend(id)).toBe('mismatch')
  expect(await spend(id, { sessionId: 'ms_other' })).toBe('mismatch')
  expect(await spend(id, { sessionId: 'ms_one' })).toBe('approved')
})

test('a request that a caller wrote approves no action', async () => {
  const { require, spend, phone } = await world()
  const { id } = await require({ byCaller: true })
  await phone.approve()
  expect(await spend(id)).toBe('mismatch')
})

test('a call that waited spends its approval once, and neither a withdrawn one nor that of an ended session', async () => {
  const { storage, at, payer, require, phone } = await world()
  const order = { userId: payer.id, action: 'transfer', detail: DETAIL }
  const spendFor = (request: Awaited<ReturnType<typeof require>>, more: object = {}) =>
    storage.write((tx) => spendAwaited(tx, request, { ...order, ...more }, at))
  const approved = await require()
  await phone.approve()
  await spendFor(approved)
  await expect(spendFor(approved)).rejects.toMatchObject({ code: 'approval_timeout' })
  const rejected = await require()
  await phone.reject()
  await expect(spendFor(rejected)).rejects.toMatchObject({ code: 'rejected' })
  await expect(spendFor(rejected, { deniedAs: 'payment_denied' })).rejects.toMatchObject({ code: 'payment_denied' })
  const sessionId = `ms_${'0'.repeat(32)}`
  const ended = await require({ sessionId })
  await phone.approve()
  await expect(spendFor(ended, { sessionId })).rejects.toMatchObject({ code: 'sign_in_required' })
})

test('a deleted authorization cannot be spent, and a spent one cannot be deleted', async () => {
  const { call, payer, require, spend, phone } = await world()
  const [first, second] = [await require({ action: 'paywall' }), await require({ action: 'paywall' })]
  await phone.approve()
  const withdraw = (authorizationId: number) =>
    call('DELETE', '/v4/paywall/authorizations', { token: payer.token, body: { authorizationId } })
  expect((await withdraw(first.id)).status).toBe(200)
  expect(await spend(first.id, { action: 'paywall' })).toBe('rejected')
  expect(await spend(second.id, { action: 'paywall' })).toBe('approved')
  expect((await withdraw(second.id)).body.code).toBe('authorization_answered')
})

test('a request lasts two minutes by default, and thirty seconds for a paywall', async () => {
  const { at, require } = await world()
  const lifetimes = []
  for (const order of [{}, { action: 'paywall' }, { action: 'paywall', lifetimeMs: 5000 }]) {
    const request = await require(order)
    lifetimes.push(request.expires_at - at)
    expect([requestStatus(request, request.expires_at - 1), requestStatus(request, request.expires_at)]).toEqual([
      'pending',
      'expired',
    ])
  }
  expect(lifetimes).toEqual([120_000, 30_000, 5000])
})

test('callers learn whether a user has a device before they ask', async () => {
  const { storage, call, payer } = await world()
  const has = () => storage.read((tx) => hasDevice(tx, payer.id))
  expect(await has()).toBe(false)
  await registerDevice(call, payer)
  expect(await has()).toBe(true)
  expect(await storage.read((tx) => hasDevice(tx, payer.id + 1))).toBe(false)
})
