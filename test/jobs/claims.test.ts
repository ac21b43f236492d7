import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { findEnded, isHeld, LONGEST_CLAIM_MS } from '../../src/jobs/claims/claim.js'

const YEAR = 365 * 86_400_000
const NOW = 2 * YEAR

/** One process, which shares a storage unless the storage is its own. */
const processOf = (instance: string, exclusive = false) => ({ storage: { ...memoryStorage(), exclusive }, instance })

const claim = { holder: 'a:1', until: NOW + 1000 }

describe('What a process has claimed', () => {
  test('is held until its end, in the same process too', () => {
    for (const name of ['a', 'b']) {
      expect(isHeld(claim, { at: NOW }, processOf(name))).toBe(true)
      expect(isHeld(claim, { at: NOW + 999 }, processOf(name))).toBe(true)
      expect(isHeld(claim, { at: NOW + 1000 }, processOf(name))).toBe(false)
    }
  })

  test('is free for a process that is alone with its storage, unless it is its own', () => {
    expect(isHeld(claim, { at: NOW }, processOf('b', true))).toBe(false)
    expect(isHeld(claim, { at: NOW }, processOf('a', true))).toBe(true)
  })

  test.each([
    ['ahead', YEAR],
    ['back', -YEAR],
  ])('is free once the clock jumps %s a year', (_, jump) => {
    const longest = { holder: 'a:1', until: NOW + LONGEST_CLAIM_MS }
    expect(isHeld(longest, { at: NOW }, processOf('b'))).toBe(true)
    expect(isHeld(longest, { at: NOW + jump }, processOf('b'))).toBe(false)
  })

  test('is free once its process is known to have ended, which nobody says of itself', async () => {
    const alive = new Set(['a', 'b'])
    const presence = { enter: async () => {}, isAlive: async (name: string) => alive.has(name) }
    const other = processOf('b')
    const asking = { ...other, storage: { ...other.storage, presence } }
    expect(isHeld(claim, { at: NOW, ended: await findEnded([claim.holder], asking) }, asking)).toBe(true)
    alive.clear()
    const ended = await findEnded([claim.holder, 'b:1'], asking)
    expect([...ended]).toEqual(['a'])
    expect(isHeld(claim, { at: NOW, ended }, asking)).toBe(false)
  })

  test('is held if it is unknown which processes are there', async () => {
    expect([...(await findEnded([claim.holder], processOf('b')))]).toEqual([])
  })
})
