import { expect, test } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem, expectSoundLedger } from '../../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

contract('createFork, forkSandbox, listForks and removeFork', (start) => {
  test('give a service of its own at its URL, over the same state', { tags: 'everywhere' }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { hash } = await newCommodity(call, seller)
    const { token, hostname } = await newPayer(call, seller, { balance: 5 })
    await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
    const created = await call('POST', '/_sandbox/forks')
    expect([created.status, created.body]).toEqual([201, { id: expect.any(String), url: expect.any(String) }])
    const { id, url } = created.body
    expect(url).toMatch(new RegExp(`/_sandbox/forks/${id}$`))
    const below = (path: string) => `/_sandbox/forks/${id}${path}`

    expect((await call('POST', below(`/v4/payment/${hash}`), { token })).status).toBe(202)
    const balances = async (path: string) => (await call('GET', path, { token })).body.balances
    const [mine, its] = [await balances(`/v4/twin/${hostname}`), await balances(below(`/v4/twin/${hostname}`))]
    expect([Object.values(mine), Object.values(its)]).toEqual([[5], [4.75]])
    expect(await balanceOf(call, token, hostname)).toBe(5)
    await call('POST', below('/_sandbox/clock'), { body: { advance: '1m' } })
    const clocks = await Promise.all(['/_sandbox/clock', below('/_sandbox/clock')].map((path) => call('GET', path)))
    const [now = 0, later = 0] = clocks.map(({ body }) => Date.parse(body.now))
    expect(later - now).toBe(60_000)
    for (const path of ['/_sandbox/ledger', below('/_sandbox/ledger')])
      expect((await call('GET', path)).body.ok).toBe(true)

    const second = (await call('POST', below('/_sandbox/fork'))).body
    expect(second.url.startsWith(`${url}/_sandbox/forks/`)).toBe(true)
    expect((await call('GET', below('/_sandbox/forks'))).body.forks).toEqual([second])
    const deep = below(`/_sandbox/forks/${second.id}/v4/twin/${hostname}`)
    expect(Object.values(await balances(deep))).toEqual([4.75])

    expect((await call('GET', '/_sandbox/forks')).body.forks).toEqual([{ id, url }])
    const sibling = await call('POST', '/_sandbox/fork')
    expect([sibling.status, sibling.body.url]).toEqual([201, url.replace(id, sibling.body.id)])
    expect((await call('DELETE', `/_sandbox/forks/${id}`)).status).toBe(204)
    expectProblem(await call('GET', below('/v4/dq')), 404, 'not_found')
    expectProblem(await call('GET', deep), 404, 'not_found')
    expectProblem(await call('DELETE', `/_sandbox/forks/${id}`), 404, 'not_found')
    expect((await call('POST', `/v4/payment/${hash}`, { token })).status).toBe(202)
    await expectSoundLedger(call)
  })

  test('make at most 1,000 forks', async () => {
    const { call } = await start()
    for (let n = 0; n < 999; n++) await call('POST', '/_sandbox/forks')
    expect((await call('POST', '/_sandbox/fork')).status).toBe(201)
    expectProblem(await call('POST', '/_sandbox/forks'), 409, 'sandbox_full')
    expectProblem(await call('POST', '/_sandbox/fork'), 409, 'sandbox_full')
    const [first] = (await call('GET', '/_sandbox/forks')).body.forks
    await call('DELETE', `/_sandbox/forks/${first.id}`)
    expect((await call('POST', '/_sandbox/fork')).status).toBe(201)
  })
})
