import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemRandom } from '../../src/base/ports.js'
import type { ServiceContext } from '../../src/http/context.js'
import { type FlowClaims, runExclusively, takeOverAll } from '../../src/jobs/flows/flow.js'
import { isHeld, newClaim } from '../../src/storage/claim.js'
import { allRows } from '../../src/storage/page.js'
import { collection, type Reader } from '../../src/storage/storage.js'

/** One process, which asks about those that share its storage. */
function processOf(instance: string, alive?: ReadonlySet<string>) {
  const asked: [name: string, tx: Reader][] = []
  const presence = {
    enter: async () => {},
    async isAlive(name: string, tx: Reader) {
      asked.push([name, tx])
      return alive?.has(name) === true
    },
  }
  const storage = { ...memoryStorage(), exclusive: false, ...(alive && { presence }) }
  const ongoing = new Map<string, undefined>()
  const process = { storage, instance, ongoing, random: systemRandom }
  const holds = (claim: string | null | undefined) => storage.read((tx) => isHeld(tx, claim, process))
  return { process, ongoing, asked, holds }
}

test('a claim names its holder, and no other claim has its fence', () => {
  const { process } = processOf('a')
  const claims = new Set([newClaim(process), newClaim(process)])
  expect(claims.size).toBe(2)
  for (const claim of claims) expect(claim).toMatch(/^a:[0-9a-f]{32}$/)
})

test('nobody holds what has no claim', async () => {
  const { holds } = processOf('a')
  expect([await holds(null), await holds(undefined)]).toEqual([false, false])
})

test('a process holds what it works on, and nothing that it has ended', async () => {
  const { process, ongoing, holds, asked } = processOf('a', new Set(['a']))
  const claim = newClaim(process)
  ongoing.set(claim, undefined)
  expect([await holds(claim), await holds('a:earlier')]).toEqual([true, false])
  ongoing.delete(claim)
  expect([await holds(claim), asked]).toEqual([false, []])
})

test('another process holds its claims while it is alive, which is asked in the same transaction', async () => {
  const alive = new Set(['b'])
  const { process, holds, asked } = processOf('a', alive)
  const seen = await process.storage.read(async (tx) => [await isHeld(tx, 'b:1', process), asked[0]?.[1] === tx])
  expect(seen).toEqual([true, true])
  alive.clear()
  expect(await holds('b:1')).toBe(false)
})

test('a process that is alone with its storage asks about nobody', async () => {
  const { process, asked } = processOf('a', new Set(['b']))
  const alone = { ...process, storage: { ...process.storage, exclusive: true } }
  expect([await process.storage.read((tx) => isHeld(tx, 'b:1', alone)), asked]).toEqual([false, []])
})

test('a claim is held where nobody can tell who is alive', async () => {
  expect(await processOf('a').holds('b:1')).toBe(true)
})

interface ClaimedRow {
  readonly id: number
  readonly claim: string | null
}

const claimed = collection<ClaimedRow>()('claimed', {})

/** What ends claims in rows of `claimed`, and notes which it ended. */
function claimsOf(ended: (string | null)[]): FlowClaims<ClaimedRow> {
  return {
    timer: 'end_claim',
    longestMs: () => 1000,
    find: (tx, subject) => tx.get(claimed, Number(subject)),
    all: (tx) => allRows(tx, claimed, { index: 'id', prefix: [] }),
    tokenOf: ({ claim }) => claim,
    claimedAt: async () => 0,
    async end(tx, row) {
      ended.push(row.claim)
      tx.put(claimed, { ...row, claim: null })
    },
  }
}

test('a start ends the claims that nobody holds, and no other', async () => {
  const { process, ongoing } = processOf('a', new Set(['b']))
  ongoing.set('a:now', undefined)
  const all = [null, 'a:now', 'a:before', 'b:1', 'c:1']
  const ended: (string | null)[] = []
  await process.storage.write(async (tx) => {
    for (const [id, claim] of all.entries()) tx.put(claimed, { id, claim })
    const service = process as unknown as ServiceContext // `end` ignores it.
    await takeOverAll(tx, claimsOf(ended), { service, claimant: process })
  })
  expect(ended).toEqual(['a:before', 'c:1'])
  const left = (await process.storage.export()).rows.claimed as readonly unknown[] as readonly ClaimedRow[]
  expect(left.map(({ claim }) => claim)).toEqual([null, 'a:now', null, 'b:1', null])
})

test.each([
  ['nobody holds it', 'c:1', 'c:1', [], ['c:1']],
  ['a living process has claimed it since', 'c:1', 'b:2', ['b'], []],
  ['another process that has died since has claimed it', 'c:1', 'd:2', [], []],
  ['its claim has ended since', 'c:1', null, [], []],
  ['its holder turns out to be alive', 'c:1', 'c:1', ['c'], []],
  ['a living process holds it', 'b:1', 'b:1', ['b'], []],
])(
  'who waits for a claim ends it only if it is the one that was seen, and is free: %s',
  async (_, seen, now, alive, expected) => {
    const living = new Set(seen.startsWith('b') ? ['b'] : [])
    const { process } = processOf('a', living)
    const ended: (string | null)[] = []
    const set = (claim: string | null) => process.storage.write(async (tx) => tx.put(claimed, { id: 1, claim }))
    await set(seen)
    const service = {
      ...process,
      alarm: { set: () => () => {} },
      background: {
        watch: async (_options: unknown, read: (tx: Reader) => Promise<unknown>) => {
          const value = await process.storage.read(read)
          // Between the look and the write.
          await set(now)
          for (const name of alive) living.add(name)
          return { value, changed: Promise.resolve(false), end: () => {} }
        },
      },
    } as unknown as ServiceContext // As much of it as a wait needs.
    const look = async (tx: Reader) => (await tx.get(claimed, 1)) as ClaimedRow
    expect(await runExclusively(claimsOf(ended), { look, run: async () => undefined }, service)).toBeUndefined()
    expect(ended).toEqual(expected)
  },
)
