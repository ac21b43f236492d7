import { describe, expect, test } from 'vitest'
import { createService } from '../../src/index.js'
import { newItem, putParameters } from '../support/scenes/catalog.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { newProcesses, type TestProcess } from '../support/scenes/processes.js'
import { askCode, mailedCode, newGuest, verify } from '../support/scenes/sign-in.js'
import { balanceOf, newCommodity, newPayer, newSeller, tokenFor } from '../support/scenes/world.js'

const HOUR = 3_600_000

describe.each([{ hints: true }, { hints: false }])('controls of several processes (hints: $hints)', ({ hints }) => {
  async function starting() {
    const world = newProcesses({ hints })
    const [a, b, c] = [await world.start(), await world.start(), await world.start()]
    return { ...world, a, b, c, all: [a, b, c] }
  }

  test('the clock that one process moves or stops is that of all when the control answers', async () => {
    const { a, b, c, all } = await starting()
    await a.call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
    const stopped = (await a.call('GET', '/_sandbox/clock')).body
    for (const each of all) expect((await each.call('GET', '/_sandbox/clock')).body).toEqual(stopped)
    for (const each of all) await each.call('POST', '/_sandbox/clock', { body: { advance: '1h' } })
    const later = new Date(Date.parse(stopped.now) + 3 * HOUR).toISOString()
    for (const { service } of all) expect(service.sandbox.clock()).toEqual({ mode: 'manual', now: later })
    await Promise.all([
      b.call('POST', '/_sandbox/clock', { body: { advance: '1h' } }),
      c.call('POST', '/_sandbox/clock', { body: { advance: '1h' } }),
    ])
    const last = new Date(Date.parse(stopped.now) + 5 * HOUR).toISOString()
    for (const { service } of all) expect(service.sandbox.clock()).toEqual({ mode: 'manual', now: last })
  })

  test('a reset in one process is a reset of all, and they go on together', async () => {
    const { a, b, all, rowsOf } = await starting()
    const seller = await newSeller(b.call)
    await a.call('POST', '/_sandbox/reset')
    expectProblem(await b.call('GET', '/v4/account', { token: seller.token }), 401, 'token_invalid')
    expect((await rowsOf()).sort()).toEqual(all.map(({ name }) => name).sort())
    const again = await newSeller(b.call)
    const { hash } = await newCommodity(a.call, again)
    const payer = await newPayer(a.call, again, { balance: 5 })
    for (const { call } of all)
      expect((await call('POST', `/v4/payment/${hash}`, { token: payer.token })).status).toBe(202)
    expect(await balanceOf(a.call, payer.token, payer.hostname)).toBe(4.25)
    await expectSoundLedger(b.call)
  })

  test('a state that one process restores brings its clock and its key to all', async () => {
    const { a, b, all, rowsOf } = await starting()
    const other = createService({
      sandbox: true,
      seed: { accounts: [{ name: 'Shop' }], users: [{ email: 'ada@example.test' }] },
    })
    await other.sandbox.setClock({ mode: 'manual' })
    await other.sandbox.advance('30d')
    const state = await other.sandbox.snapshot()
    await a.call('PUT', '/_sandbox/snapshot', { body: state })
    for (const { service } of all) expect(service.sandbox.clock()).toEqual(other.sandbox.clock())
    const { users = [] } = await other.sandbox.credentials()
    for (const { client_id, client_secret } of users) await tokenFor(b.call, client_id, client_secret)
    expect(users).toHaveLength(1)
    expect((await rowsOf()).sort()).toEqual(all.map(({ name }) => name).sort())
    await other.close()
  })

  test('a key that one process forgets is forgotten by all', async () => {
    const { a, b, c } = await starting()
    await a.service.sandbox.seed({ users: [{ email: 'ada@example.test' }] })
    const secretsAt = async ({ service }: TestProcess) => {
      const secrets = (await service.sandbox.credentials()).users?.map(({ client_secret }) => client_secret)
      return secrets ?? []
    }
    const before = await secretsAt(a)
    await b.call('POST', '/_sandbox/encryption-key/forget')
    const [one, two, three] = [await secretsAt(a), await secretsAt(b), await secretsAt(c)]
    expect([one, two]).toEqual([three, three])
    // Their names are derived from the key too.
    expect([before.length, three.length]).toEqual([1, 0])
  })

  test('a key that an option sets is forgotten by all, those that start later too', async () => {
    const { start, time, storage } = newProcesses({ hints })
    const encryptionKey = '0123456789abcdef'.repeat(4)
    const [a, b] = [await start({ encryptionKey }), await start({ encryptionKey })]
    const seller = await newSeller(a.call)
    const item = await newItem(a.call, seller)
    const parameters = [{ kind: 'header', name: 'x-key', value: 'secret' }]
    await putParameters(a.call, seller, item, parameters)
    const readAt = async ({ call }: TestProcess) => {
      const { body } = await call('GET', `/v4/catalog/items/${item.id}/parameters`, { token: seller.token })
      return body.parameters[0].value
    }
    expect([await readAt(a), await readAt(b)]).toEqual(['secret', 'secret'])
    const forgotten = await start({ encryptionKey })
    const resume = forgotten.hang()
    await b.call('POST', '/_sandbox/encryption-key/forget')
    resume()
    await time.until(async () => (await readAt(forgotten)) === null)
    const late = await start({ encryptionKey })
    const all = [a, b, forgotten, late]
    for (const each of all) expect(await readAt(each)).toBeNull()
    // What one of them encrypts or derives from now on, all of them know.
    await putParameters(a.call, seller, item, parameters)
    for (const each of all) expect(await readAt(each)).toBe('secret')
    const [guest, email] = [await newGuest(a.call), 'ada@example.test']
    await askCode(b.call, guest, email)
    const code = await mailedCode(late.call, email)
    expect((await verify(a.call, guest, email, code)).status).toBe(200)
    expect(JSON.stringify(await storage.export())).not.toContain(encryptionKey)
  })

  test('a forgotten key leaves the journal, the forks and the snapshots of each process as they are', async () => {
    const { start, time } = newProcesses({ hints })
    const encryptionKey = '0123456789abcdef'.repeat(4)
    const [a, b] = [await start({ encryptionKey }), await start({ encryptionKey })]
    const seller = await newSeller(a.call)
    const item = await newItem(a.call, seller)
    await putParameters(a.call, seller, item, [{ kind: 'header', name: 'x-key', value: 'secret' }])
    const path = `/v4/catalog/items/${item.id}/parameters`
    const readAt = async (fetch: TestProcess['service']['fetch']) => {
      const answer = await time.during(fetch(path, { headers: { authorization: `Bearer ${seller.token}` } }))
      return (await answer.json()).parameters[0].value
    }
    expect(await readAt(b.service.fetch)).toBe('secret')
    const entry = async () =>
      (await b.service.sandbox.requests.list({ operation_id: 'listDispatchParameters' })).requests
    const [before, fork] = [await entry(), await time.during(b.service.sandbox.fork())]
    await b.call('POST', '/_sandbox/snapshots', { body: { name: 'before' } })
    await a.call('POST', '/_sandbox/encryption-key/forget')
    expect([await readAt(b.service.fetch), await readAt(fork.fetch)]).toEqual([null, 'secret'])
    expect((await entry()).at(-1)).toEqual(before[0])
    expect(before).toHaveLength(1)
    const other = createService({ sandbox: true, encryptionKey, clock: time.clock })
    await other.sandbox.restore((await b.call('GET', '/_sandbox/snapshots/before')).body)
    expect(await readAt(other.fetch)).toBe('secret')
    await Promise.all([fork.close(), other.close()])
  })

  test('faults that one process arms or disarms are those of all, and no snapshot holds them', async () => {
    const { a, b, c, all, start } = await starting()
    const fault = { match: { operation_id: 'listDigitalQuantities' }, at: 'before', do: { status: 503 } }
    const { id } = (await a.call('POST', '/_sandbox/faults', { body: fault })).body
    const statuses = async () => {
      const answers = await Promise.all(all.map(({ service }) => service.fetch(`${service.baseUrl}/v4/dq`)))
      return answers.map(({ status }) => status)
    }
    expect(await statuses()).toEqual([503, 503, 503])
    const second = (await b.call('POST', '/_sandbox/faults', { body: { ...fault, times: 1 } })).body.id
    expect(second).not.toBe(id)
    const late = await start()
    expect((await late.service.sandbox.faults.list()).map((armed) => armed.id)).toEqual([id, second])
    expect((await c.service.sandbox.snapshot()).rows.settings?.map((row) => row.id)).not.toContain('faults')
    await c.call('DELETE', `/_sandbox/faults/${id}`)
    await c.call('DELETE', `/_sandbox/faults/${second}`)
    expect(await statuses()).toEqual([200, 200, 200])
    await a.call('POST', '/_sandbox/faults', { body: fault })
    await b.call('POST', '/_sandbox/reset')
    expect(await statuses()).toEqual([200, 200, 200])
  })
})
