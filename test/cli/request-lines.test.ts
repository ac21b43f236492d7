import { expect, test } from 'vitest'
import { printRequests } from '../../sandbox/commands/start.js'
import { createService } from '../../src/index.js'

test('a flood of requests becomes few lines, which say how many they leave out', async () => {
  const service = createService({ sandbox: true })
  const requests = service.sandbox.requests.follow()
  const printed: string[] = []
  const rests: (() => void)[] = []
  const ended = printRequests(requests, {
    print: (text) => printed.push(text),
    rest: () => new Promise<void>((resolve) => rests.push(resolve)),
  })
  const send = async (count: number) => {
    for (let n = 0; n < count; n++) await service.fetch('/v4/dq')
  }
  const lines = () => printed.join('').split('\n').slice(0, -1)
  await send(1)
  await expect.poll(lines).toHaveLength(1)
  expect(lines()[0]).toMatch(/^\d\d:\d\d:\d\d {2}GET {2}listDigitalQuantities {2}200 {2}\d+\.\d ms$/)
  // The rest comes after the 20th line. Then 1,000 entries wait, and older ones are lost.
  await send(3000)
  expect([rests.length, lines().length]).toEqual([1, 20])
  let rested = 0
  const awaken = () => {
    for (const go of rests.slice(rested)) go()
    rested = rests.length
  }
  await expect
    .poll(() => {
      awaken()
      return lines().length
    })
    .toBe(1021)
  expect(lines()[20]).toBe('1,981 requests are not shown. farthing requests lists the last ones.')
  await service.close()
  awaken()
  await ended
})
