import { expect, it } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'

it('a change of the clock before the first call wins over the stored clock', async () => {
  const storage = memoryStorage()
  const running = createService({ storage, sandbox: true })
  await running.sandbox.advance('3d')
  const state = await storage.export()
  await running.close()

  const again = memoryStorage()
  await again.import(state)
  const restarted = createService({ storage: again, sandbox: true })
  expect(await restarted.sandbox.setClock({ mode: 'manual' })).toMatchObject({ mode: 'manual' })
  expect(Date.parse(restarted.sandbox.clock().now) - Date.now()).toBeGreaterThan(2 * 86_400_000)
  await restarted.close()
})
