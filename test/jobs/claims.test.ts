import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemRandom } from '../../src/base/ports.js'
import { isHeld, newClaim } from '../../src/storage/claim.js'
import type { Reader } from '../../src/storage/storage.js'

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
