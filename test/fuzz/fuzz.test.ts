import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { howMuch } from '../support/how-much.js'
import { anyRequests, operations } from './requests.js'
import { checkState, sendAndCheck } from './send.js'
import { newWorld, type World } from './world.js'

/**
 * Sends hostile requests to every operation, by every kind of caller. `npm run test:long` sends many more. A failure prints
 * its seed and path. This repeats it:
 *
 *     FARTHING_FUZZ_SEED=1 FARTHING_FUZZ_PATH=2:0 npx vitest run test/fuzz/fuzz.test.ts
 */
const {
  FARTHING_FUZZ_RUNS: runs,
  FARTHING_FUZZ_SEED: seed,
  FARTHING_FUZZ_PATH: path,
  FARTHING_FUZZ_ONLY: only,
} = process.env

let world: World
beforeAll(async () => {
  world = await newWorld()
}, 120_000)
afterAll(() => world.service.close())

test('the requests reach every operation but those that replace the state', () => {
  expect(operations.length).toBeGreaterThan(200)
})

test('no hostile request fails, hangs, reads too much, breaks the ledger or shows what is someone else’s', {
  timeout: 8 * 3_600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(anyRequests(only), async (requests) => {
      await world.reset()
      for (const request of requests) await sendAndCheck(request, world)
      await checkState(world)
    }),
    {
      numRuns: Number(runs ?? howMuch(40, 120)),
      ...(seed !== undefined && { seed: Number(seed) }),
      ...(path !== undefined && { path }),
    },
  )
})
