import { createService } from 'farthing'
import { expect, onTestFinished, test, vi } from 'vitest'

test('an answer that a fault delays keeps the process alive until it arrives', async () => {
  const service = createService({ sandbox: true })
  onTestFinished(() => service.close())
  await service.sandbox.faults.arm({ match: {}, at: 'before', do: { delay_ms: 20 } })
  const set = vi.spyOn(globalThis, 'setInterval')
  const clear = vi.spyOn(globalThis, 'clearInterval')
  onTestFinished(() => void vi.restoreAllMocks())
  expect((await service.fetch('/v4/dq')).status).toBe(200)
  const [timer] = set.mock.results.map(({ value }) => value)
  expect(timer?.hasRef()).toBe(true)
  expect(clear).toHaveBeenCalledWith(timer)
})
