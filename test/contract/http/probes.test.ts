import { expect, test } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { expectProblem } from '../../support/scenes/market.js'

contract('readLiveness and readReadiness', (start) => {
  test('answer anybody, in a strict mode too, and leave no entry in the journal', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start({ evidence: 'documented' })
    const first = await call('POST', '/_sandbox/reset')
    const alive = await call('GET', '/healthz')
    expect([alive.status, alive.body]).toEqual([200, { alive: true }])
    const ready = await call('GET', '/readyz')
    expect([ready.status, ready.body]).toEqual([200, { ready: true, waiting: expect.any(Number), queue: 1000 }])
    const { requests } = (await call('GET', '/_sandbox/requests')).body
    expect(requests.map(({ id }: { id: string }) => id)).toEqual([first.headers.get('x-request-id')])
  })

  test('tell apart a service that lives from one whose queue has no room', async () => {
    const { call } = await start({ limits: { queue: 0 } })
    expect((await call('GET', '/healthz')).status).toBe(200)
    const full = await call('GET', '/readyz')
    expectProblem(full, 503, 'not_ready')
    expect(full.body).toMatchObject({ waiting: expect.any(Number), queue: 0 })
    expect(full.headers.get('retry-after')).toBe('1')
  })
})

contract('a queue without room', (start) => {
  test('turns requests away, but not controls', { tags: ['everywhere', 'pages', 'worker'] }, async () => {
    const { call } = await start({ limits: { queue: 0 } })
    for (const path of ['/v4/dq', '/v4/account/nobody'])
      expect([(await call('GET', path)).status, path]).toEqual([path === '/v4/dq' ? 503 : 404, path])
    const refused = await call('POST', '/v4/account')
    expectProblem(refused, 503, 'overloaded')
    expect(refused.body).toMatchObject({ waiting: expect.any(Number), queue: 0 })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await call('POST', '/_sandbox/seed', { body: { accounts: [{ name: 'Ada' }] } })).status).toBe(201)
    expect((await call('GET', '/_sandbox/ledger')).body.ok).toBe(true)
    const why = await call('GET', `/_sandbox/requests/${refused.headers.get('x-request-id')}/explain`)
    expect(why.body).toMatchObject({
      facts: { waiting: refused.body.waiting, queue: 0 },
      fix: { operation_id: 'createAccount' },
    })
  })
})
