import { expect, test } from 'vitest'
import { SharedPlaces } from '../../src/base/shared-places.js'
import { type Sharer, Shares, SlowSharers } from '../../src/jobs/outbox/shares.js'

const MOST = 512
const sharer = (owner: number, host = `host-${owner}`): Sharer => ({ owner: `account:${owner}`, host })

/** Lets each of these take as many places as it may, and returns how many each has then. */
function fill(sharers: readonly Sharer[], isSlow: (sharer: Sharer) => boolean = () => false) {
  const shares = new Shares(MOST, { running: [], isSlow })
  const taken = sharers.map((each) => {
    let own = 0
    for (; shares.mayTake(each); own++) shares.take(each)
    return own
  })
  return { shares, taken }
}

const owners = (count: number) => Array.from({ length: count }, (_, n) => sharer(n))

test('however many take as many places as they may, the next one begins at once', () => {
  for (const count of [1, 2, 10, 40, 100, 200]) {
    const { shares } = fill(owners(count))
    expect(shares.mayTake(sharer(1000)), `${count} owners`).toBe(true)
  }
})

test('a host of an owner leaves places to the other hosts of the owner', () => {
  const { shares, taken } = fill([sharer(1, 'hanging')])
  expect(taken).toEqual([86])
  expect(shares.mayTake(sharer(1, 'other'))).toBe(true)
})

test('owners who all reach one host leave places to other hosts, and a first place to each owner there', () => {
  const { shares, taken } = fill(Array.from({ length: 100 }, (_, n) => sharer(n, 'one')))
  expect(taken.reduce((sum, own) => sum + own, 0)).toBeLessThan(MOST / 2 + 100)
  expect(shares.mayTake(sharer(1000, 'one'))).toBe(true)
  expect(shares.mayTake(sharer(1001, 'other'))).toBe(true)
})

test('those who were slow hold less than half of the places together, however many they are', () => {
  const isSlow = ({ owner }: Sharer) => owner !== 'account:1000'
  for (const count of [1, 2, 40, 600]) {
    const { shares, taken } = fill(owners(count), isSlow)
    expect(taken.reduce((sum, own) => sum + own, 0)).toBeLessThanOrEqual(MOST / 2)
    expect(shares.mayTake(sharer(1000))).toBe(true)
  }
  expect(fill([sharer(1)], isSlow).taken[0]).toBeLessThan(fill([sharer(1)]).taken[0] ?? 0)
})

test('an owner is slow at a host until it is quick there, and no more than 10,000 are remembered', () => {
  const slow = new SlowSharers()
  slow.note(sharer(1), { ms: 15_000, isLate: false })
  slow.note(sharer(2), { ms: 0, isLate: true })
  slow.note(sharer(3), { ms: 10, isLate: false })
  expect([1, 2, 3].map((owner) => slow.has(sharer(owner)))).toEqual([true, true, false])
  expect(slow.has(sharer(1, 'other'))).toBe(false)
  slow.note(sharer(1), { ms: 10, isLate: false })
  expect(slow.has(sharer(1))).toBe(false)
  for (let owner = 10; owner < 10_010; owner++) slow.note(sharer(owner), { ms: 15_000, isLate: false })
  expect([slow.has(sharer(2)), slow.has(sharer(10_009))]).toEqual([false, true])
})

test('streams share their places in the same way, up to a limit for each owner', () => {
  const places = new SharedPlaces({ most: 100, mostOfOwner: 20 })
  const fillFor = (owner: string) => {
    const frees = []
    for (let free = places.take(owner); free; free = places.take(owner)) frees.push(free)
    return frees
  }
  const first = fillFor('a')
  expect(['b', 'c', 'd', 'e', 'f'].map((owner) => fillFor(owner).length)).toEqual([15, 8, 4, 2, 1])
  expect(first.length).toBe(20)
  for (const free of [...first, ...first]) free()
  expect([places.of('a'), places.free]).toEqual([0, 70])
})
