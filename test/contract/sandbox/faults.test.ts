import { expect, test } from 'vitest'
import type { Fault } from '../../../src/index.js'
import type { Call } from '../../support/api.js'
import type { Started } from '../../support/contract/contract.js'
import { contract } from '../../support/contract/contract.js'
import { expectProblem, expectSoundLedger, pay } from '../../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

/** A payer with 10, and an article for 1 that they may pay. */
async function shopIn({ call, url, fetch }: Started) {
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 10 })
  const article = await newCommodity(call, seller, { cost: 1 })
  const ask = (path: string, { method = 'GET', headers = {} }: { method?: string; headers?: object } = {}) =>
    fetch(
      new Request(url + path, {
        method,
        headers: { authorization: `Bearer ${payer.token}`, 'content-type': 'application/json', ...headers },
        ...(method === 'POST' && { body: '{}' }),
      }),
    )
  return {
    ...{ seller, payer, article, ask },
    pay: (headers = {}) => ask(`/v4/payment/${article.hash}`, { method: 'POST', headers }),
    readTwins: (headers = {}) => ask('/v4/twins', { headers }),
    balance: () => balanceOf(call, payer.token, payer.hostname),
  }
}

const arm = async (call: Call, fault: Fault): Promise<any> => {
  const { status, body } = await call('POST', '/_sandbox/faults', { body: fault })
  expect(status).toBe(201)
  return body
}

const fired = async (call: Call): Promise<number[]> =>
  (await call('GET', '/_sandbox/faults')).body.faults.map((fault: { fired: number }) => fault.fired)

const payments = { operation_id: 'createPayment' }

contract('armFault', (start) => {
  test('raises the price between the quote and the payment', async () => {
    const started = await start()
    const { call } = started
    const { article, payer, balance } = await shopIn(started)
    await arm(call, { match: payments, at: 'before', do: { raise_price: 10 }, times: 1 })
    const payFor = (cost: number) => call('POST', `/v4/payment/${article.hash}`, { token: payer.token, body: { cost } })
    const refused = await payFor(1)
    expectProblem(refused, 409, 'price_changed')
    expect(refused.body.price).toBe(1.1)
    expect((await payFor(1.1)).status).toBe(202)
    expect(await balance()).toBe(8.9)
    expect(await fired(call)).toEqual([1])
  })

  test('answers in place of the handler, as often as it says', { tags: 'everywhere' }, async () => {
    const started = await start()
    const { call } = started
    const shop = await shopIn(started)
    const match = { ...payments, principal: `user:${shop.payer.id}` }
    const armed = await arm(call, { match, at: 'before', do: { status: 503, body: { busy: true } }, times: 2 })
    expect(armed).toEqual({
      ...{ id: 'fault_1', match, at: 'before', times: 2, fired: 0 },
      do: { status: 503, body: { busy: true } },
    })
    const statuses = []
    for (let n = 0; n < 3; n++) {
      const answer = await shop.pay()
      statuses.push([answer.status, (await answer.json()).busy])
    }
    expect(statuses).toEqual([
      [503, true],
      [503, true],
      [202, undefined],
    ])
    expect(await shop.balance()).toBe(9)
    expect(await fired(call)).toEqual([2])
  })

  test('says when to try again', { tags: 'everywhere' }, async () => {
    const started = await start()
    const { call } = started
    const shop = await shopIn(started)
    await arm(call, { match: payments, at: 'before', do: { status: 503, retry_after: 7 }, times: 1 })
    await arm(call, { match: payments, at: 'after_commit', do: { status: 503, retry_after: 0 }, times: 1 })
    const waits = []
    for (let n = 0; n < 3; n++) waits.push((await shop.pay()).headers.get('retry-after'))
    expect(waits).toEqual(['7', '0', null])
  })

  test('loses the answer of a payment that a retry with its key then gets', { tags: 'everywhere' }, async () => {
    const started = await start()
    const { call } = started
    const shop = await shopIn(started)
    await arm(call, { match: payments, at: 'after_commit', do: { drop: true }, times: 1 })
    const key = { 'idempotency-key': crypto.randomUUID() }
    await expect(shop.pay(key)).rejects.toThrow()
    expect(await shop.balance()).toBe(9)
    const { requests } = (await call('GET', '/_sandbox/requests?operation_id=createPayment')).body
    expect(requests).toMatchObject([{ status: null, fault: 'fault_1', principal: `user:${shop.payer.id}` }])
    expect(requests[0].caused.map(({ kind }: { kind: string }) => kind)).toContain('movement')
    const again = await shop.pay(key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
    expect(await shop.balance()).toBe(9)
    expect((await expectSoundLedger(call)).ok).toBe(true)
    expect(await fired(call)).toEqual([1])
  })

  test('does nothing if it drops a request before the handler', { tags: 'everywhere' }, async () => {
    const started = await start()
    const shop = await shopIn(started)
    await expect(shop.pay({ 'x-sandbox-fault': 'before; drop' })).rejects.toThrow()
    expect(await shop.balance()).toBe(10)
    expect((await shop.pay()).status).toBe(202)
  })

  test('breaks an answer off in its body', { tags: 'everywhere' }, async () => {
    const started = await start()
    const shop = await shopIn(started)
    for (const fault of ['mid_body; truncate=10', 'mid_body; drop']) {
      // A browser may see the end of the connection before it shows the head of the answer.
      const read = shop.readTwins({ 'x-sandbox-fault': fault }).then((answer) => answer.text())
      await expect(read).rejects.toThrow()
    }
  })

  test('sends a part of a body whose whole length it declares', async () => {
    const started = await start()
    const shop = await shopIn(started)
    const whole = await (await shop.readTwins()).text()
    const answer = await shop.readTwins({ 'x-sandbox-fault': 'mid_body; truncate=10' })
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, `${whole.length}`])
    const reader = answer.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(whole.slice(0, 10))
    await expect(reader?.read()).rejects.toThrow()
    const short = await shop.readTwins({ 'x-sandbox-fault': `mid_body; truncate=${whole.length}` })
    expect(await short.text()).toBe(whole)
  })

  test('slows an answer and its body down, and changes neither', { tags: 'everywhere' }, async () => {
    const started = await start()
    const shop = await shopIn(started)
    const whole = await (await shop.readTwins()).text()
    for (const fault of [
      'before; delay_ms=1',
      'after_commit; delay_ms=1',
      'mid_body; delay_ms=1',
      'mid_body; drip=50000',
    ])
      expect(await (await shop.readTwins({ 'x-sandbox-fault': fault })).text()).toBe(whole)
  })

  test('replaces the answer of a change that stands', async () => {
    const started = await start()
    const shop = await shopIn(started)
    const key = { 'idempotency-key': crypto.randomUUID() }
    const lost = await shop.pay({ ...key, 'x-sandbox-fault': 'after_commit; status=502' })
    expect([lost.status, await lost.json()]).toEqual([
      502,
      { error: 'The fault "header" of this sandbox answered.', status: 502, fault: 'header' },
    ])
    expect(await shop.balance()).toBe(9)
    expect((await shop.pay(key)).status).toBe(202)
    expect(await shop.balance()).toBe(9)
  })

  test('repeats a request like an impatient proxy: twice without a key, once with one', async () => {
    const started = await start()
    const { call } = started
    const shop = await shopIn(started)
    const twice = 'after_commit; duplicate'
    expect((await shop.pay({ 'x-sandbox-fault': twice })).status).toBe(202)
    expect(await shop.balance()).toBe(8)
    const keyed = await shop.pay({ 'x-sandbox-fault': twice, 'idempotency-key': crypto.randomUUID() })
    expect([keyed.status, keyed.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
    expect(await shop.balance()).toBe(7)
    const { nonce, timestamp } = await pay(call, shop.payer, shop.article)
    await arm(call, { match: { operation_id: 'validatePayment' }, at: 'after_commit', do: { duplicate: true } })
    const options = { token: shop.seller.token, body: { nonce, timestamp } }
    expectProblem(await call('POST', `/v4/payment/${shop.article.hash}/validate`, options), 400, 'nonce_used')
    await expectSoundLedger(call)
  })

  test('happens to the requests that match: by method, path and caller', async () => {
    const started = await start()
    const { call } = started
    const shop = await shopIn(started)
    const answer = { at: 'before', do: { status: 503 } } as const
    const match = async (given: Fault['match']) => {
      await call('DELETE', '/_sandbox/faults')
      await arm(call, { match: given, ...answer })
      const twins = (await shop.readTwins()).status
      const paid = (await shop.pay({ 'idempotency-key': 'the same one for all of them' })).status
      const others = (await shop.readTwins({ authorization: `Bearer ${shop.seller.token}` })).status
      return [twins, paid, others]
    }
    expect(await match({})).toEqual([503, 503, 503])
    expect(await match({ method: 'POST' })).toEqual([200, 503, 200])
    expect(await match({ path: '/v4/payment/*' })).toEqual([200, 503, 200])
    expect(await match({ path: '*/twins' })).toEqual([503, 202, 503])
    expect(await match({ path: '/v4/twin' })).toEqual([200, 202, 200])
    expect(await match({ principal: `account:${shop.seller.id}` })).toEqual([200, 202, 503])
    expect(await match({ principal: `user:${shop.payer.id}`, method: 'GET' })).toEqual([503, 202, 200])
  })

  test('happens every nth time, by chance but the same each time, and until a time', async () => {
    const started = await start()
    const { call } = started
    const shop = await shopIn(started)
    const run = async (fault: Partial<Fault>) => {
      await call('DELETE', '/_sandbox/faults')
      await arm(call, { match: { path: '/v4/twins' }, at: 'before', do: { status: 503 }, ...fault })
      const statuses = []
      for (let n = 0; n < 12; n++) statuses.push((await shop.readTwins()).status)
      return statuses.map((status) => (status === 503 ? 'x' : '.')).join('')
    }
    expect(await run({ every: 3 })).toBe('..x..x..x..x')
    expect(await run({ every: 3, times: 2 })).toBe('..x..x......')
    const drawn = await run({ probability: 0.5, seed: 7 })
    expect(drawn).toMatch(/x.*\.|\..*x/)
    expect(await run({ probability: 0.5, seed: 7 })).toBe(drawn)
    expect(await run({ probability: 0.5, seed: 8 })).not.toBe(drawn)
    expect(await run({ probability: 0 })).toBe('............')
    await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
    const now = Date.parse((await call('GET', '/_sandbox/clock')).body.now)
    await call('DELETE', '/_sandbox/faults')
    const until = new Date(now + 60_000).toISOString()
    await arm(call, { match: { path: '/v4/twins' }, at: 'before', do: { status: 503 }, until })
    expect((await shop.readTwins()).status).toBe(503)
    await call('POST', '/_sandbox/clock', { body: { advance: '1m' } })
    expect((await shop.readTwins()).status).toBe(200)
  })

  test('never happens to a control', async () => {
    const { call } = await start()
    await arm(call, { match: {}, at: 'before', do: { drop: true } })
    const headers = { 'x-sandbox-fault': 'before; drop' }
    expect((await call('GET', '/_sandbox/faults', { headers })).body.faults).toHaveLength(1)
    expect((await call('DELETE', '/_sandbox/faults')).status).toBe(204)
    expect((await call('GET', '/v4/dq')).status).toBe(200)
  })

  test('is refused if it could never happen, and nothing is armed', async () => {
    const { call } = await start()
    for (const body of [{}, { match: {}, at: 'before', do: { duplicate: true } }])
      expectProblem(await call('POST', '/_sandbox/faults', { body }), 400, 'field_invalid')
    expect(await fired(call)).toEqual([])
  })

  test('takes an id once, and at most a hundred faults, of which those that are over make room', async () => {
    const { call, url, fetch } = await start()
    const fault = { match: { path: '/v4/dq' }, at: 'before', do: { status: 503 }, times: 1 } as const
    await arm(call, { ...fault, id: 'mine' })
    expectProblem(await call('POST', '/_sandbox/faults', { body: { ...fault, id: 'mine' } }), 409, 'already_exists')
    for (let n = 1; n < 100; n++) await arm(call, fault)
    expectProblem(await call('POST', '/_sandbox/faults', { body: fault }), 400, 'field_invalid')
    expect((await fetch(new Request(`${url}/v4/dq`))).status).toBe(503)
    expect((await arm(call, { ...fault, id: 'more' })).id).toBe('more')
    const { faults } = (await call('GET', '/_sandbox/faults')).body
    expect([faults.length, faults[0].id, faults[99].id]).toEqual([100, 'fault_2', 'more'])
  })
})

contract('The header X-Sandbox-Fault', (start) => {
  test('is refused where the controls do not answer: to a page of another origin', async () => {
    const started = await start()
    const { call, url, fetch } = started
    const shop = await shopIn(started)
    const answer = await fetch(
      new Request(`${url}/v4/payment/${shop.article.hash}`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${shop.payer.token}`, 'content-type': 'application/json' },
          ...{ origin: 'https://evil.example.test', 'x-sandbox-fault': 'after_commit; drop' },
        },
        body: '{}',
      }),
    )
    expect([answer.status, (await answer.json()).code]).toEqual([403, 'sandbox_refused'])
    expect(await shop.balance()).toBe(10)
    await expectSoundLedger(call)
  })

  test('is refused with its grammar if it is wrong, and nothing happens', async () => {
    const started = await start()
    const shop = await shopIn(started)
    const wrong = {
      drop: 'a point and an action, such as "after_commit; drop"',
      'after_commit; dorp': 'do.dorp is not a field. Did you mean "drop"?',
      'later; drop': 'at must be one of',
      'before; duplicate': 'at must be "after_commit"',
      'before; status=9': 'do.status must be at least 200',
      'before; error=1': 'do.error',
      'before; drop; drop': 'a point and an action',
    }
    for (const [header, hint] of Object.entries(wrong)) {
      const answer = await shop.pay({ 'x-sandbox-fault': header })
      expect(await answer.json()).toMatchObject({ code: 'header_malformed', error: expect.stringContaining(hint) })
    }
    expect(await shop.balance()).toBe(10)
  })
})

contract('listFaults', (start) => {
  test('shows the faults of the seed, again after a reset', { tags: 'everywhere' }, async () => {
    const faults: Fault[] = [{ id: 'flaky', match: { path: '/v4/dq' }, at: 'before', do: { status: 503 }, times: 1 }]
    const { call, url, fetch } = await start({ seed: { faults } })
    const read = async () => (await fetch(new Request(`${url}/v4/dq`))).status
    expect([await read(), await read()]).toEqual([503, 200])
    await arm(call, { match: { path: '/v4/dq' }, at: 'before', do: { status: 500 } })
    await call('POST', '/_sandbox/reset')
    expect((await call('GET', '/_sandbox/faults')).body).toEqual({ faults: [{ ...faults[0], fired: 0 }] })
    expect([await read(), await read()]).toEqual([503, 200])
  })

  test('shows the faults of a seed that was added, which is added whole or not at all', async () => {
    const { call, state } = await start()
    const fault = { match: { path: '/v4/dq' }, at: 'before', do: { status: 503 } } as const
    const users = [{ email: 'ada@example.test' }]
    const before = (await state()).rows
    const bad = { users, faults: [fault, { ...fault, match: { operation_id: 'createPaymnet' } }] }
    const refused = await call('POST', '/_sandbox/seed', { body: bad })
    expect([refused.status, refused.body.field]).toEqual([400, 'faults.1.match.operation_id'])
    const taken = { users: [...users, ...users], faults: [fault] }
    expectProblem(await call('POST', '/_sandbox/seed', { body: taken }), 409, 'email_taken')
    expect((await state()).rows).toEqual(before)
    expect(await fired(call)).toEqual([])
    expect((await call('POST', '/_sandbox/seed', { body: { users, faults: [fault] } })).status).toBe(201)
    expect(await fired(call)).toEqual([0])
  })
})

contract('clearFaults', (start) => {
  test('disarms every fault', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    await arm(call, { match: {}, at: 'before', do: { drop: true } })
    expect((await call('DELETE', '/_sandbox/faults')).status).toBe(204)
    expect((await call('GET', '/v4/dq')).status).toBe(200)
    expect(await fired(call)).toEqual([])
  })
})

contract('disarmFault', (start) => {
  test('disarms one fault, which an unknown id does not name', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    await arm(call, { match: {}, at: 'before', do: { drop: true } })
    expect((await call('DELETE', '/_sandbox/faults/fault_1')).status).toBe(204)
    expect((await call('GET', '/v4/dq')).status).toBe(200)
    expectProblem(await call('DELETE', '/_sandbox/faults/fault_1'), 404, 'not_found')
  })
})
