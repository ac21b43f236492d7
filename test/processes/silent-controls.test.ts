import { describe, expect, test } from 'vitest'
import { howMuch } from '../support/how-much.js'
import { expectProblem } from '../support/scenes/market.js'
import { newProcesses } from '../support/scenes/processes.js'
import {
  expectNothingMore,
  hangInControl,
  interruptedControls,
  moveOfTheClock,
} from '../support/scenes/silent-controls.js'
import { newSeller } from '../support/scenes/world.js'

/** Without hints, a process must look again and again, which takes long in a test. */
const ways = [
  { hints: true, everyNth: howMuch(3, 1) },
  { hints: false, everyNth: howMuch(15, 5) },
]

describe.each(ways)('a process that hung in a control (hints: $hints)', ({ hints, everyNth }) => {
  test.each(interruptedControls)(
    'changes nothing more once another has ended it: $name',
    async (control) => {
      const tried = await expectNothingMore(async () => newProcesses({ hints }), { control, everyNth })
      expect(tried).toBeGreaterThan(0)
    },
    60_000,
  )
})

test('a request to a process whose control was ended is refused until it has the clock of the others', async () => {
  const world = newProcesses({ hints: false })
  const { a, b, answer, resume, isRunning } = await hangInControl(world, moveOfTheClock, 12)
  expect(isRunning).toBe(true)
  await world.time.until(async () => !(await world.rowsOf()).includes(a.name))
  const body = { dq: (await b.call('GET', '/v4/dq')).body[0]?.hash, email: 'ada@example.test' }
  const asking = a.call('POST', '/v4/account/register', { body })
  resume()
  const early = await asking
  expectProblem(early, 503, 'storage_unavailable')
  expect(early.body.error).toContain('others took this process for dead during a control')
  expect((await world.time.during(answer)).status).toBe(503)
  await newSeller(a.call)
})
