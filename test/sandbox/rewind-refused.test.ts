import { expect, it, onTestFinished } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { rates } from '../../src/jobs/rates/rate.js'
import type { Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { expectProblem } from '../support/scenes/market.js'
import { newSeller } from '../support/scenes/world.js'

/** Replaces more than a sandbox remembers. */
async function replaceMuch(storage: Storage): Promise<void> {
  const row = { id: 'much:0', times: [], until: Number.MAX_SAFE_INTEGER, text: 'x'.repeat(4 << 20) }
  for (let n = 0; n < 20; n++) await storage.write(async (tx) => tx.put(rates, row))
}

interface Reason {
  readonly reason: string
  readonly storage: Storage
  readonly says: string
  /** Whether a named snapshot is refused too. */
  readonly isAlways: boolean
  before?(storage: Storage): Promise<void>
}

const reasons: readonly Reason[] = [
  {
    reason: 'other processes use the storage',
    storage: { ...memoryStorage(), isShared: true },
    says: 'Work in a fork instead',
    isAlways: true,
  },
  {
    reason: 'other tabs may write to the storage',
    storage: { ...memoryStorage(), exclusive: false },
    says: 'Save a named snapshot',
    isAlways: false,
  },
  {
    reason: 'the state is forgotten',
    storage: memoryStorage(),
    says: 'no longer has the state',
    isAlways: false,
    before: replaceMuch,
  },
]

it.each(reasons)('a rewind is refused if $reason, and changes nothing', async ({ storage, says, isAlways, before }) => {
  const service = createService({ storage, sandbox: true })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  await service.sandbox.setClock({ mode: 'manual' })
  const to = (await call('POST', '/v4/account')).headers.get('x-request-id') ?? ''
  await call('POST', '/_sandbox/snapshots', { body: { name: 'then' } })
  await before?.(storage)
  await newSeller(call)
  const state = await service.sandbox.snapshot()
  const rewind = (target: string) => call('POST', '/_sandbox/rewind', { body: { to: target } })
  const refused = await rewind(to)
  expectProblem(refused, 409, 'rewind_refused')
  expect(refused.body.error).toContain(says)
  await expect(service.sandbox.rewind(to)).rejects.toMatchObject({
    code: 'rewind_refused',
    status: 409,
    message: refused.body.error,
  })
  if (isAlways) expectProblem(await rewind('then'), 409, 'rewind_refused')
  expect(await service.sandbox.snapshot()).toEqual(state)
  // What the refusal says to do works.
  const fork = await service.sandbox.fork()
  onTestFinished(() => fork.close())
  expect((await fork.sandbox.snapshot()).rows.accounts).toEqual(state.rows.accounts)
  if (!isAlways) {
    expect((await rewind('then')).status).toBe(204)
    expect((await service.sandbox.snapshot()).rows.accounts).toHaveLength(1)
  }
})
