import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { expectProblem } from '../../support/scenes/market.js'

const report = { ok: true, runs: 1, plans: 1, random_seed: 1, findings: [], cells: [] }

contract('keepRehearsal, listRehearsals and readRehearsal', (start) => {
  it('keep a report, which grows while the rehearsal runs', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const keep = (id: string, body: object) => call('PUT', `/_sandbox/rehearsals/${id}`, { body })
    expect((await keep('a', { ...report, command: 'npm test', running: true })).status).toBe(204)
    expect((await keep('a', { ...report, command: 'npm test', running: false, runs: 2 })).status).toBe(204)
    expect((await call('GET', '/_sandbox/rehearsals')).body.rehearsals).toEqual([
      { id: 'a', at: expect.any(String), command: 'npm test', running: false, runs: 2, findings: 0 },
    ])
    expect((await call('GET', '/_sandbox/rehearsals/a')).body).toMatchObject({ runs: 2, cells: [] })
    expectProblem(await call('GET', '/_sandbox/rehearsals/b'), 404, 'not_found')
    expectProblem(await keep('a.b', report), 404, 'not_found')
    expectProblem(await keep('a', { ...report, cells: [{}] }), 400, 'field_invalid')
  })

  it('fill no journal while a rehearsal runs', async () => {
    const { call } = await start()
    await call('PUT', '/_sandbox/rehearsals/a', { body: report })
    await call('GET', '/_sandbox/rehearsals/a')
    await call('GET', '/_sandbox/clock')
    const { requests } = (await call('GET', '/_sandbox/requests')).body
    expect(requests.map(({ path }: { path: string }) => path)).toEqual(['/_sandbox/clock'])
  })

  it('keep the last 10, outside of the state', async () => {
    const { call } = await start()
    for (let n = 0; n < 12; n++) await call('PUT', `/_sandbox/rehearsals/r${n}`, { body: report })
    const listed = (await call('GET', '/_sandbox/rehearsals')).body.rehearsals.map(({ id }: { id: string }) => id)
    expect(listed).toEqual(['r11', 'r10', 'r9', 'r8', 'r7', 'r6', 'r5', 'r4', 'r3', 'r2'])
    expect((await call('GET', '/_sandbox/snapshot')).text).not.toContain('random_seed')
  })
})
