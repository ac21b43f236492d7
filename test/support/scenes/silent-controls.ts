import { expect } from 'vitest'
import { createService } from '../../../src/index.js'
import { processes } from '../../../src/jobs/processes/process-rows.js'
import { expectSoundLedger } from './market.js'
import type { newProcesses, TestProcess } from './processes.js'
import { balanceOf, newCommodity, newPayer, newSeller } from './world.js'

interface InterruptedControl {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly body: object
}

async function snapshot() {
  const other = createService({ sandbox: true, seed: { users: [{ email: 'ada@example.test' }] } })
  await other.sandbox.setClock({ mode: 'manual' })
  const state = await other.sandbox.snapshot()
  await other.close()
  return state
}

const fault = { match: { operation_id: 'listDigitalQuantities' }, at: 'before', do: { status: 500 } }

export const moveOfTheClock: InterruptedControl = {
  name: 'a move of the clock',
  method: 'POST',
  path: 'clock',
  body: { advance: '1d' },
}

/** Everything that one process does for all. */
export const interruptedControls: readonly InterruptedControl[] = [
  moveOfTheClock,
  { name: 'a clock that starts', method: 'POST', path: 'clock', body: { mode: 'real' } },
  { name: 'a reset', method: 'POST', path: 'reset', body: {} },
  { name: 'an import', method: 'PUT', path: 'snapshot', body: await snapshot() },
  { name: 'a key that is forgotten', method: 'POST', path: 'encryption-key/forget', body: {} },
  { name: 'a fault', method: 'POST', path: 'faults', body: fault },
]

type Processes = ReturnType<typeof newProcesses>

/** Begins a control in the first of two processes, which hangs before its nth call of the storage. */
export async function hangInControl({ start, time, storage }: Processes, control: InterruptedControl, call: number) {
  const [a, b] = [await start(), await start()]
  await a.call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  const readControl = () => storage.read((tx) => tx.get(processes, 'control'))
  const before = await readControl()
  let isAnswered = false
  const { hasHung, resume } = a.hangAt(call)
  const { method, path, body } = control
  const headers = { 'content-type': 'application/json' }
  const answer = a.service
    .fetch(`/_sandbox/${path}`, { method, headers, body: JSON.stringify(body) })
    .finally(() => (isAnswered = true))
  await time.until(() => isAnswered || hasHung())
  const now = await readControl()
  const isRunning = now?.holder.startsWith(`${a.name}:`) ?? false
  return { a, b, answer, resume, isRunning, isOver: !isRunning && now?.fence !== before?.fence }
}

/**
 * Lets a process hang in a control, at every nth call of the storage. Fails if it changes anything once the other process
 * has gone on, or does not serve again. Returns how often it hung while it ran the control.
 */
export async function expectNothingMore(
  newWorld: () => Promise<Processes>,
  { control, everyNth }: { readonly control: InterruptedControl; readonly everyNth: number },
): Promise<number> {
  let tried = 0
  for (let call = 4; ; call += everyNth) {
    const world = await newWorld()
    const hung = await hangInControl(world, control, call)
    if (hung.isRunning) {
      await goOn(world, hung)
      tried++
    } else {
      hung.resume()
      await world.time.during(hung.answer)
    }
    for (const { service } of [hung.a, hung.b]) await world.time.during(service.close())
    if (hung.isOver) return tried
  }
}

type Hung = Awaited<ReturnType<typeof hangInControl>>

/** The second process ends the control, and makes a payment. Then the first one wakes up. */
async function goOn({ time, storage, rowsOf }: Processes, { a, b, answer, resume }: Hung): Promise<void> {
  const stored = async () => {
    const { processes: _, ...rows } = (await storage.export()).rows
    return rows
  }
  await time.pass(9000)
  await time.until(async () => !(await rowsOf()).includes(a.name))
  const seller = await newSeller(b.call)
  const { hash } = await newCommodity(b.call, seller)
  const payer = await newPayer(b.call, seller, { balance: 5 })
  const pay = async ({ call }: TestProcess) =>
    expect((await call('POST', `/v4/payment/${hash}`, { token: payer.token })).status).toBe(202)
  await pay(b)
  const before = await stored()
  resume()
  const refused = await time.during(answer)
  expect({ status: refused.status, ...(await refused.json()) }).toMatchObject({ status: 503, code: 'outcome_unknown' })
  expect(await stored()).toEqual(before)
  expect(a.service.sandbox.clock()).toEqual(b.service.sandbox.clock())
  expect(await a.service.sandbox.faults.list()).toEqual([])
  await pay(a)
  expect(await balanceOf(a.call, payer.token, payer.hostname)).toBe(4.5)
  for (const { call } of [a, b])
    expect((await call('POST', '/_sandbox/clock', { body: { advance: '1h' } })).status).toBe(200)
  expect(a.service.sandbox.clock()).toEqual(b.service.sandbox.clock())
  await expectSoundLedger(a.call)
}
