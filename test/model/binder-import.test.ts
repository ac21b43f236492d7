import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { type BinderLine, binderCsv, binderHash, binderOf } from '../support/scenes/binders.js'
import { balancesOf, expectSoundLedger } from '../support/scenes/market.js'
import { newSeller, newTwin } from '../support/scenes/world.js'

const callOf = (service: Service) => caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })

const START = Date.parse('2024-02-29T23:59:59.000Z')

interface Step {
  readonly later: number
  readonly action: 'receive' | 'send'
  readonly dq: number
  /** Smallest units; 0: a delegate. */
  readonly units: number
  readonly other: number
}

/** How many decimals the amounts of each digital quantity have. */
const DECIMALS = [0, 3, 9]

const steps = fc.array(
  fc.record<Step>({
    later: fc.constantFrom(0, 0, 1, 86_400_000),
    action: fc.constantFrom('receive', 'send'),
    dq: fc.nat(DECIMALS.length - 1),
    units: fc.oneof(fc.nat(20), fc.nat(10 ** 12)),
    other: fc.nat(3),
  }),
  { maxLength: 60 },
)

/** An amount as a binder may write it, with or without zeros at its end. */
function written(units: number, decimals: number, at: number): string {
  const digits = String(units).padStart(decimals + 1, '0')
  const exact = decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
  return at % 2 === 0 || decimals === 0 ? exact : exact.replace(/\.?0+$/, '')
}

/** The lines of a history, the newest first, and what each balance must be. */
function historyOf(made: readonly Step[]) {
  let at = START
  const lines: BinderLine[] = []
  const own = DECIMALS.map(() => 0n)
  const lowest = DECIMALS.map(() => 0n)
  const sent = new Map<string, bigint>()
  for (const [n, { later, action, dq, units, other }] of made.entries()) {
    at += later
    const line = { at, action, identity: binderHash('file', n), other: binderHash('twin', other) }
    if (units === 0) {
      lines.unshift(line)
      continue
    }
    const decimals = DECIMALS[dq] as number
    lines.unshift({ ...line, dq: binderHash('dq', dq), amount: written(units, decimals, n) })
    own[dq] = (own[dq] ?? 0n) + BigInt(action === 'receive' ? units : -units)
    if ((own[dq] ?? 0n) < (lowest[dq] ?? 0n)) lowest[dq] = own[dq] ?? 0n
    const key = `${other} ${dq}`
    if (action === 'send') sent.set(key, (sent.get(key) ?? 0n) + BigInt(units))
  }
  return { lines, own, openings: lowest.map((low) => -low), sent }
}

const exact = (units: bigint, decimals: number): number => Number(`${units}e-${decimals}`)

test('imports any history: the audit holds, and every balance is that of a plain model', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (made) => {
      const service = createService({ storage: memoryStorage({ rerun: true }), sandbox: true })
      const call = callOf(service)
      const { token } = await newSeller(call)
      const { hostname } = await newTwin(call, token)
      const { lines, own, openings, sent } = historyOf(made)
      const { digital_quantities } = await service.sandbox.importBinder({ hostname, csv: binderCsv(lines) })
      await expectSoundLedger(call)
      const balances = await balancesOf(call, token, hostname)
      for (const [place, decimals] of DECIMALS.entries()) {
        const dq = binderHash('dq', place)
        const opening = openings[place] ?? 0n
        const balance = exact((own[place] ?? 0n) + opening, decimals)
        const isNamed = lines.some((line) => line.dq === dq)
        expect([dq, balances[dq]]).toEqual([dq, isNamed ? balance : undefined])
        expect(digital_quantities.find((each) => each.dq === dq)).toEqual(
          isNamed
            ? { dq, ...{ is_new: true, balance }, opening: exact(opening, decimals), decimals: expect.any(Number) }
            : undefined,
        )
      }
      const { rows } = await service.sandbox.snapshot()
      const twins = rows.twins as unknown as { id: number; address: string }[]
      const quantities = rows.digital_quantities as unknown as { id: string; decimals: number }[]
      for (const [key, units] of sent) {
        const [other, dq] = key.split(' ').map(Number) as [number, number]
        const { id } = twins.find(({ address }) => address === binderHash('twin', other)) ?? { id: 0 }
        const row = (rows.balances ?? []).find((each) => each.id === `${id}:${binderHash('dq', dq)}`)
        const { decimals = 0 } = quantities.find((each) => each.id === binderHash('dq', dq)) ?? {}
        const { amount } = row as unknown as { amount: string }
        expect(exact(BigInt(amount), decimals)).toBe(exact(units, DECIMALS[dq] ?? 0))
      }
      const shown = (await binderOf(call, token, hostname)).split('\n').filter(Boolean)
      // Of one time, movements come before delegates.
      const expected = binderCsv([...lines].sort((a, b) => b.at - a.at || Number(!a.dq) - Number(!b.dq)))
      const opened = openings.filter((opening) => opening > 0n).length
      expect(shown).toHaveLength(lines.length + 1 + opened)
      const names = new Set(shown.map((line) => normal(line)))
      for (const line of expected.split('\n').filter(Boolean)) expect(names).toContain(normal(line))
      if (opened === 0) expect(shown.map(normal)).toEqual(expected.split('\n').filter(Boolean).map(normal))
      await service.close()
    }),
    { numRuns: howMuch(8, 40) },
  )
})

/** A line whose amount has no zeros at its end. */
const normal = (line: string): string =>
  line
    .split(',')
    .map((cell, at) => (at === 4 && /^\d/.test(cell) ? String(Number(cell)) : cell))
    .join(',')

const ROWS = 1100
const long = binderCsv(
  Array.from({ length: ROWS }, (_, n): BinderLine => {
    const line = { at: START - n, identity: binderHash('file', n), other: binderHash('twin', n % 7) }
    return n % 50 === 0 ? line : { ...line, dq: binderHash('dq', 1), amount: '1', action: n % 2 ? 'receive' : 'send' }
  }),
)

/** A storage whose process can be ended before or after one of its next writes. */
function killable(inner: Storage) {
  let left = Number.POSITIVE_INFINITY
  let kill: 'before' | 'after' = 'before'
  const storage: Storage = {
    ...inner,
    async write(body) {
      left--
      if (left < 0 || (left === 0 && kill === 'before')) throw new Error('killed')
      const value = await inner.write(body)
      if (left === 0) throw new Error('killed')
      return value
    },
    close: async () => {},
  }
  const killAt = (write: number, when: typeof kill) => {
    left = write
    kill = when
  }
  return { storage, killAt }
}

test.each([
  ['before', { undone: 5, completed: 4 }],
  ['after', { undone: 4, completed: 5 }],
] as const)(
  'has imported all or nothing after the next start, if the process ends %s any write',
  async (kill, expected) => {
    let undone = 0
    let completed = 0
    for (let last = 1; ; last++) {
      const inner = memoryStorage()
      const shared: Storage = { ...inner, close: async () => {} }
      const setup = createService({ storage: shared, sandbox: true })
      const { token } = await newSeller(callOf(setup))
      const { hostname } = await newTwin(callOf(setup), token)
      const process = killable(shared)
      const begun = createService({ storage: process.storage, sandbox: true, log: { error() {} } })
      await begun.ready()
      process.killAt(last, kill)
      const isKilled = await begun.sandbox.importBinder({ hostname, csv: long }).then(
        () => false,
        () => true,
      )

      const next = createService({ storage: shared, sandbox: true })
      const call = callOf(next)
      await expectSoundLedger(call)
      const rows = (await binderOf(call, token, hostname)).split('\n').filter(Boolean)
      expect([1, ROWS + 1]).toContain(rows.length)
      const { rows: left } = await next.sandbox.snapshot()
      for (const name of ['binder_imports', 'binder_pieces', 'reservations']) expect(left[name] ?? []).toEqual([])
      expect((left.balances ?? []).filter((balance) => 'importing' in balance)).toEqual([])
      const again = await next.sandbox.importBinder({ hostname, csv: long }).catch(({ code }) => code)
      if (rows.length === 1) {
        undone++
        expect(again).toMatchObject({ rows: ROWS })
      } else {
        completed++
        expect(again).toBe('binder_refused')
      }
      await next.close()
      if (!isKilled) break
    }
    // Three pieces are stored before the decision, and posted after it.
    expect({ undone, completed }).toEqual(expected)
  },
)

test('shows nothing of an import until all of it is there', async () => {
  const service = createService({ storage: memoryStorage(), sandbox: true })
  const call = callOf(service)
  const { token } = await newSeller(call)
  const { hostname } = await newTwin(call, token)
  const looks: Promise<unknown>[] = []
  const look = async () => ({
    binder: (await binderOf(call, token, hostname)).split('\n').filter(Boolean).length,
    inventory: (
      await call('GET', `/v4/twin/${hostname}/inventory`, { token, headers: { accept: 'application/json' } })
    ).body
      .filter(({ fileType }: { fileType: string }) => fileType === binderHash('dq', 1))
      .map(({ amount, integrity }: { amount: number; integrity: string }) => [amount, integrity]),
    balance: (await balancesOf(call, token, hostname))[binderHash('dq', 1)],
    ledger: (await call('GET', '/_sandbox/ledger')).body.broken,
  })
  const onProgress = ({ step, rows }: { step: string; rows: number }) => {
    if (step === 'post' && rows < ROWS) looks.push(look())
  }
  await service.sandbox.importBinder({ hostname, csv: long, onProgress })
  const unseen = { binder: 1, inventory: [[0, 'valid']], balance: 0, ledger: null }
  expect(await Promise.all(looks)).toHaveLength(2)
  expect((await Promise.all(looks))[0]).toEqual(unseen)
  expect(await look()).toMatchObject({ binder: ROWS + 1 })
  await service.close()
})

test('reads what a snapshot in the middle of an import holds as all or nothing', async () => {
  const service = createService({ storage: memoryStorage(), sandbox: true })
  const { token } = await newSeller(callOf(service))
  const { hostname } = await newTwin(callOf(service), token)
  const snapshots: ReturnType<typeof service.sandbox.snapshot>[] = []
  const onProgress = () => {
    snapshots.push(service.sandbox.snapshot())
  }
  await service.sandbox.importBinder({ hostname, csv: long, onProgress })
  const seen = new Set<number>()
  for (const snapshot of await Promise.all(snapshots)) {
    const other = createService({ storage: memoryStorage(), sandbox: true })
    await other.sandbox.restore(snapshot)
    await expectSoundLedger(callOf(other))
    seen.add((await binderOf(callOf(other), token, hostname)).split('\n').filter(Boolean).length)
    await other.close()
  }
  expect([...seen].sort((a, b) => a - b)).toEqual([1, ROWS + 1])
  await service.close()
})

test('takes a stream of bytes, and refuses fields that it does not know and a CSV that is none', async () => {
  const service = createService({ storage: memoryStorage(), sandbox: true })
  const call = callOf(service)
  const { token } = await newSeller(call)
  const { hostname } = await newTwin(call, token)
  const given = (order: object) => service.sandbox.importBinder(order as never).catch(({ message }) => message)
  expect(await given({ hostname, text: long })).toContain('Choose from hostname, csv, onProgress.')
  expect(await given({ hostname, csv: 1 })).toContain('"csv" must be a text or a stream of it')
  expect(await given({ hostname, csv: long, onProgress: 1 })).toContain('"onProgress" must be a function')
  const stopped = (async function* () {
    yield long.slice(0, 200_000)
    throw new Error('the disk is gone')
  })()
  expect(await given({ hostname, csv: stopped })).toBe('the disk is gone')
  expect((await service.sandbox.snapshot()).rows.binder_imports ?? []).toEqual([])
  const { body } = new Response(long)
  expect(await given({ hostname, csv: body })).toMatchObject({ rows: ROWS })
  await service.close()
})
