import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { ServiceContext } from '../../src/http/context.js'
import { catalogItems } from '../../src/market/catalog/item-row.js'
import { commodities } from '../../src/money/commodities/commodity.js'
import { ArmedFaults, MOST_FAULTS, SharedCounts } from '../../src/sandbox/faults/armed-faults.js'
import { armAtStart, SandboxFaults, thenArm } from '../../src/sandbox/faults/faults.js'
import type { Fault, FaultyRequest, OutwardPorts } from '../../src/sandbox/onion/fault.js'
import { keepFaults, keptFaults } from '../../src/sandbox/settings/settings.js'
import { StorageUnavailable } from '../../src/storage/storage.js'
import { Transaction } from '../../src/storage/transaction.js'

const drop: Fault = { match: {}, at: 'before', do: { drop: true } }

function newArmed(instance = 'abc') {
  let changes = 0
  const armed = new ArmedFaults({
    ...{ now: () => 0, instance, counts: undefined },
    loadOperations: async () => ['readDq', 'createPayment'],
    onChange: () => void changes++,
  })
  return { armed, changes: () => changes, arm: async (...faults: Fault[]) => (await armed.prepare(faults)).arm() }
}

const times = (count: number, fault: Fault = drop): Fault[] => Array.from({ length: count }, () => fault)
const idsOf = (faults: readonly { readonly id: string }[]) => faults.map(({ id }) => id)

test('a hundred faults are armed at once, and the oldest of those that are over make room', async () => {
  const { armed, arm } = newArmed()
  expect(MOST_FAULTS).toBe(100)
  await arm(...times(98, { ...drop, times: 1 }))
  await armed.take('before', {})
  await armed.take('before', {})
  await arm({ ...drop, id: 'x' }, drop)
  await expect(armed.prepare(times(3))).rejects.toMatchObject({ code: 'field_invalid' })
  expect((await armed.list()).length).toBe(100)
  await arm(drop)
  expect(idsOf(await armed.list())).toEqual(['fault_2', ...idsOf(await armed.list()).slice(1)])
  expect(idsOf(await armed.list()).slice(-3)).toEqual(['x', 'fault_100', 'fault_101'])
  await arm(drop)
  expect(idsOf(await armed.list())[0]).toBe('fault_3')
  await expect(armed.prepareAnew(times(101), 'faults')).rejects.toMatchObject({ code: 'field_invalid' })
  const begin = await armed.prepareAnew(times(100), 'faults')
  expect(idsOf(await armed.list())[0]).toBe('fault_3')
  begin()
  expect(idsOf(await armed.list())).toEqual(times(100).map((_, at) => `fault_${at + 1}`))
  armed.clear()
  expect(idsOf(await arm(drop))).toEqual(['fault_1'])
})

test('an unknown operation is refused by its place, with the nearest one that can fail', async () => {
  const { armed } = newArmed()
  const wrong: Fault = { ...drop, match: { operation_id: 'readDqs' } }
  const known: Fault = { ...drop, match: { operation_id: 'readDq' } }
  const refusal = (faults: Fault[], within?: string) =>
    armed.prepare(faults, within).then(
      () => undefined,
      (error: { readonly facts: object; readonly fields: object }) => JSON.stringify([error.facts, error.fields]),
    )
  expect(await refusal([known, drop])).toBeUndefined()
  expect(await refusal([drop, wrong])).toMatch(/"match\.operation_id.*readDq\b/)
  expect(await refusal([drop, known, wrong], 'faults')).toContain('faults.2.match.operation_id')
})

test('what a process follows stays as it is where it is armed already, and the rest is taken over', async () => {
  const [{ armed: one, arm }, { armed: other, changes, arm: armOther }] = [newArmed('a'), newArmed('b')]
  await arm({ ...drop, times: 2 }, { ...drop, id: 'x' })
  expect(one.shared()).toEqual([
    { ...drop, times: 2, id: 'fault_1', number: 1, arming: 'a:1' },
    { ...drop, id: 'x', number: 2, arming: 'a:2' },
  ])
  await armOther(drop)
  const before = changes()
  other.follow(one.shared())
  expect([changes() - before, other.shared()]).toEqual([1, one.shared()])
  await other.take('before', {})
  other.follow(one.shared())
  expect((await other.list()).map(({ fired }) => fired)).toEqual([1, 0])
  expect(idsOf(await armOther(drop))).toEqual(['fault_3'])
  // One that is prepared stays, and happens once it is armed.
  const held = await other.prepare([drop])
  other.follow([])
  expect(await other.take('before', {})).toBeUndefined()
  expect(idsOf(held.arm())).toEqual(['fault_4'])
  expect((await other.take('before', {}))?.id).toBe('fault_4')
  other.putBack({ ...drop, id: 'unknown', fired: 1 })
  other.putBack({ ...drop, id: 'fault_4', fired: 1 })
  expect((await other.list()).map(({ fired }) => fired)).toEqual([0])
})

test('some fault may still happen while it is armed and not spent', async () => {
  const { armed, arm } = newArmed()
  const isOf = () => armed.some(({ do: { drop: isDrop } }) => isDrop === true)
  const held = await armed.prepare([{ ...drop, times: 1 }])
  expect(isOf()).toBe(false)
  held.arm()
  expect(isOf()).toBe(true)
  await armed.take('before', {})
  expect(isOf()).toBe(false)
  await arm({ ...drop, do: { status: 503 } })
  expect(isOf()).toBe(false)
})

test('a match that processes count together counts where it is armed, and while the storage works', async () => {
  const storage = memoryStorage()
  const fault = { ...drop, times: 2, id: 'x', number: 1, arming: 'a:1' }
  await storage.write((tx) => keepFaults(tx, [{ ...fault, id: 'y', arming: 'a:0' }, fault]))
  const counts = new SharedCounts(storage)
  const counted = { fault, number: 1, arming: 'a:1', matched: 0, fired: 0 }
  const [none, once, twice] = [0, 1, 2].map((n) => ({ arming: 'a:1', matched: n, fired: n }))
  expect(await counts.match(counted)).toEqual({ before: none, after: once })
  expect(await counts.match(counted)).toEqual({ before: once, after: twice })
  expect(await counts.match(counted)).toEqual({ before: twice, after: twice })
  expect(await counts.read()).toEqual([{ arming: 'a:0', matched: 0, fired: 0 }, twice])
  expect(await counts.match({ ...counted, arming: 'a:2' })).toBeUndefined()
  const failing = (error: Error) =>
    new SharedCounts({ read: storage.read, write: () => Promise.reject(error) }).match(counted)
  expect(await failing(new StorageUnavailable('down'))).toBeUndefined()
  await expect(failing(new TypeError('wrong'))).rejects.toThrow('wrong')
})

function newSandbox({ seeded = [] as Fault[], isShared = false } = {}) {
  const called: string[] = []
  const fetch = async ({ url }: { readonly url: string }) => {
    called.push(url)
    return new Response('own')
  }
  const ports = {
    mailer: { send: async () => void called.push('mail') },
    push: {},
    cards: undefined,
    upstream: { fetch },
  }
  const storage = Object.assign(memoryStorage(), { isShared })
  const faults = new SandboxFaults({
    ...{ clock: { now: () => 0 }, alarm: {} as never, instance: 'abc', ports: ports as unknown as OutwardPorts },
    ...{ seeded, sharedBy: undefined, loadOperations: async () => [] },
  })
  let shares = 0
  const share = async <T>(job: () => Promise<T>) => {
    shares++
    return job()
  }
  const service = { sandbox: { faults }, background: { share }, storage } as unknown as ServiceContext
  return { faults, service, storage, called, shares: () => shares }
}

test('ports are called as they are while no fault is armed, and name the fault that happens to them', async () => {
  const { faults, called } = newSandbox()
  const notes: string[] = []
  const { mailer, upstream } = faults.over((id) => void notes.push(id))
  await mailer.send({} as never)
  expect([faults.engine, faults.aroundWrites, faults.storageFault]).toEqual([undefined, undefined, undefined])
  const engine = await faults.load()
  expect(faults.engine).toBeUndefined()
  const arm = async (match: Fault['match']) =>
    (await engine.prepare([{ match, at: 'before', do: { status: 503 }, times: 1 }])).arm()
  await arm({ port: 'webhook', path: '/hook', method: 'POST' })
  expect(faults.engine).toBe(engine)
  const ask = async (path: string, headers: object, method = 'POST') =>
    (await upstream.fetch({ url: `https://a.example.test${path}?q=1`, method, headers } as never)).status
  const signed = { 'webhook-signature': 'v1' }
  expect([await ask('/hook', {}), await ask('/other', signed), await ask('/hook', signed, 'PUT')]).toEqual([
    200, 200, 200,
  ])
  expect([await ask('/hook', signed), notes]).toEqual([503, ['fault_1']])
  expect(faults.engine).toBeUndefined()
  expect(await ask('/hook', signed)).toBe(200)
  await arm({ port: 'upstream' })
  expect([await ask('/hook', signed), await ask('/hook', {}), notes]).toEqual([200, 503, ['fault_1', 'fault_2']])
  expect(called.filter((each) => each !== 'mail')).toHaveLength(5)
})

test('the health of the storage is that of the last write, as long as faults are armed', async () => {
  const { faults, storage } = newSandbox()
  const engine = await faults.load()
  const notes: string[] = []
  const observer = { noteFault: (id: string) => void notes.push(id) }
  const write = (changes = true, error?: Error) => {
    const body = async (tx: Transaction) => {
      if (error) throw error
      if (changes) tx.put(catalogItems, { id: 1 } as never)
      return 'done'
    }
    const run = <V>(each: (tx: Transaction) => Promise<V>) => storage.write((tx) => each(Transaction.over(tx)))
    const around = faults.aroundWrites
    return around ? around(run, body, observer) : run(body)
  }
  const isStored = async () => (await storage.read((tx) => tx.get(catalogItems, 1))) !== undefined
  const arm = async (at: Fault['at'], more: Partial<Fault> = {}) =>
    (await engine.prepare([{ match: { port: 'storage' }, at, do: { error: 'ENOSPC' }, times: 1, ...more }])).arm()
  await arm('before')
  await arm('before', { times: 2, every: 2 })
  expect(await write(false)).toBe('done')
  expect([faults.storageFault, notes]).toEqual([undefined, []])
  const failure: unknown = await write().catch((error: unknown) => error)
  expect(failure).toMatchObject({ name: 'StorageUnavailable', reason: 'the disk is full' })
  expect([faults.storageFault === failure, await isStored(), notes]).toEqual([true, false, ['fault_1']])
  await expect(write(true, new Error('own'))).rejects.toThrow('own')
  expect(faults.storageFault).toBe(failure)
  expect([await write(), faults.storageFault, await isStored()]).toEqual(['done', undefined, true])
  engine.clear()
  await arm('after_commit', { times: 2 })
  const unknown: unknown = await write().catch((error: unknown) => error)
  expect(unknown).toMatchObject({ name: 'OutcomeUnknown' })
  expect([
    faults.storageFault === unknown,
    engine.isOwn(unknown),
    engine.isOwn(new StorageUnavailable('other')),
  ]).toEqual([true, true, false])
  engine.clear()
  expect([faults.storageFault, await write()]).toEqual([undefined, 'done'])
})

test('a reset arms the faults of the seed and no others, and loads nothing if there are none', async () => {
  const none = newSandbox()
  expect(await none.faults.prepareReset()).toBeUndefined()
  await none.faults.follow([])
  expect(none.faults.shared()).toBeUndefined()
  const engine = await none.faults.load()
  ;(await engine.prepare([drop])).arm()
  const clear = await none.faults.prepareReset()
  clear?.()
  expect([await none.faults.load(), none.faults.shared(), none.faults.engine]).toEqual([engine, [], undefined])
  const seeded = newSandbox({ seeded: [{ ...drop, id: 'seed' }] })
  ;(await seeded.faults.prepareReset())?.()
  expect(seeded.faults.shared()).toMatchObject([{ id: 'seed' }])
  await seeded.faults.follow([])
  expect(seeded.faults.shared()).toEqual([])
  const follower = newSandbox()
  await follower.faults.follow([{ ...drop, id: 'x', number: 4, arming: 'o:1' }])
  expect(follower.faults.shared()).toMatchObject([{ id: 'x', number: 4 }])
})

test('faults are armed after what they come with, or not at all', async () => {
  const { faults, service, shares } = newSandbox()
  for (const given of [undefined, []]) expect(await thenArm(given, service, async () => 'done')).toBe('done')
  expect([faults.shared(), shares()]).toEqual([undefined, 0])
  const act = async () => {
    expect(faults.shared()).toEqual([])
    return 'done'
  }
  expect(await thenArm([drop], service, act)).toBe('done')
  expect([faults.shared()?.length, shares()]).toEqual([1, 1])
  await expect(thenArm([drop], service, () => Promise.reject(new Error('own')))).rejects.toThrow('own')
  await expect(thenArm([{ ...drop, id: '' }], service, act)).rejects.toMatchObject({ code: 'field_invalid' })
  expect([faults.shared()?.length, shares()]).toEqual([1, 1])
  faults.engine?.clear()
  expect(idsOf((await (await faults.load()).prepare([drop])).arm())).toEqual(['fault_1'])
})

test.each([
  ['alone', false, false, true, ['seed'], 0],
  ['alone, without a seed', false, false, false, undefined, 0],
  ['the first of several', true, false, true, ['seed'], 1],
  ['a later one', true, true, true, ['kept'], 0],
  ['a later one without a seed', true, true, false, ['kept'], 0],
  ['the first of several without a seed', true, false, false, undefined, 0],
])('at its start, a process that is %s arms what is to be armed', async (_, isShared, isKept, hasSeed, ids, shared) => {
  const { faults, service, storage, shares } = newSandbox({ seeded: [{ ...drop, id: 'seed' }], isShared })
  const armSeed = hasSeed ? await faults.prepareReset() : undefined
  if (isKept) await storage.write((tx) => keepFaults(tx, [{ ...drop, id: 'kept', number: 1, arming: 'o:1' }]))
  await armAtStart(armSeed, service)
  expect(faults.shared() && idsOf(faults.shared() ?? [])).toEqual(ids)
  expect([shares(), (await storage.read(keptFaults)) !== undefined]).toEqual([shared, isKept])
})

test.each([
  ['a commodity', 'c1', '100', 10, '110'],
  ['an item', 7, '100', 10, '110'],
  ['less than one unit', 'c1', '10', 1, '11'],
  ['exactly one unit', 'c1', '100', 1, '101'],
  ['an unknown item', 8, '100', 10, '100'],
  ['an unknown commodity', 'c2', '100', 10, '100'],
])('the price of %s is raised for good, by at least one unit', async (_, paysFor, cost, percent, expected) => {
  const { faults, storage } = newSandbox()
  await storage.write(async (tx) => {
    tx.put(commodities, { id: 'c1', cost } as never)
    tx.put(catalogItems, { id: 7, hash: 'c1' } as never)
  })
  const engine = await faults.load()
  ;(await engine.prepare([{ ...drop, do: { raise_price: percent } }])).arm()
  const notes: string[] = []
  const service = { storage } as unknown as ServiceContext
  const request = { operationId: 'pay', method: 'POST', path: '/', header: null, takesBody: false, fields: {}, service }
  const run = async () => ({ status: 200, headers: {}, body: null })
  const given = { ...request, run, principal: async () => null, note: (id: string) => void notes.push(id) }
  await engine.perform({ ...given, paysFor } as FaultyRequest)
  await engine.perform({ ...given, paysFor: undefined })
  expect(notes).toEqual(['fault_1'])
  const row = await storage.read((tx) => tx.get(commodities, 'c1'))
  expect(row?.cost).toBe(expected)
})
