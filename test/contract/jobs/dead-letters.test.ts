import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { expectProblem } from '../../support/scenes/market.js'

contract('listDeadLetters and retryDeadLetter', (start) => {
  it('GET /_sandbox/dead-letters lists work that failed too often; POST …/{id}/retry tries it again', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const { counters, rows } = (await call('GET', '/_sandbox/snapshot')).body
    const parked = {
      id: 999,
      kind: 'of_an_older_version',
      subject: '7',
      due_at: null,
      failures: 16,
      parked_at: 1_900_000_000_000,
    }
    const body = { counters: { ...counters, timers: 1000 }, rows: { ...rows, timers: [parked] } }
    expect((await call('PUT', '/_sandbox/snapshot', { body })).status).toBeLessThan(300)
    expect((await call('GET', '/_sandbox/dead-letters')).body).toEqual({
      dead_letters: [{ id: 'timer:999', kind: 'of_an_older_version', subject: '7', parked_at: 1_900_000_000 }],
    })
    expect((await call('POST', '/_sandbox/dead-letters/timer:999/retry')).status).toBe(204)
    expectProblem(await call('POST', '/_sandbox/dead-letters/timer:999/retry'), 404, 'not_found')
    expect((await call('GET', '/_sandbox/dead-letters')).body.dead_letters).toEqual([])
  })
})
