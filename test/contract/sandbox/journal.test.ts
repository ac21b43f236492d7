import { expect, test } from 'vitest'
import type { Answer, Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, pay, stopClock } from '../../support/scenes/market.js'
import { basic, newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

const idOf = (answer: Answer): string => answer.headers.get('x-request-id') ?? ''

const entryOf = async (call: Call, answer: Answer) => (await call('GET', `/_sandbox/requests/${idOf(answer)}`)).body

async function newShop(call: Call) {
  const seller = await newSeller(call)
  const commodity = await newCommodity(call, seller)
  return { seller, commodity, payer: await newPayer(call, seller, { balance: 5 }) }
}

contract('listRequests and readRequest', (start) => {
  test('an answer names its entry, which says who called and what that caused', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const {
      call,
      made: { commodity, payer },
    } = await startWith(start, newShop)
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const paid = await call('POST', `/v4/payment/${commodity.hash}`, {
      token: payer.token,
      body: { cost: 0.25 },
      headers: { traceparent },
    })
    expect(paid.status).toBe(202)
    const entry = await entryOf(call, paid)
    expect(entry).toMatchObject({
      id: idOf(paid),
      origin: expect.stringMatching(/^(http|in_process|worker|msw)$/),
      operation_id: 'createPayment',
      method: 'POST',
      path: `/v4/payment/${commodity.hash}`,
      status: 202,
      principal: expect.stringMatching(/^user:\d+$/),
      trace: '0af7651916cd43dd8448eb211c80319c',
      request: { headers: { authorization: 'Bearer [redacted]' }, body: '{"cost":0.25}' },
      storage: { transactions: 1 },
    })
    expect(entry.ms).toBeGreaterThanOrEqual(0)
    expect(entry.storage.writes).toBeGreaterThan(0)
    expect(entry.caused.map(({ kind }: { kind: string }) => kind)).toEqual(
      expect.arrayContaining(['movement', 'event']),
    )
    expect(JSON.stringify(entry)).not.toContain(payer.token)
    expect(JSON.stringify(entry)).not.toContain(paid.body.nonce)
  })

  test('finds entries by operation, status, caller, text and trace, newest first, in pages', async () => {
    const {
      call,
      made: { commodity, payer },
    } = await startWith(start, newShop)
    const send = () => call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token, body: {} })
    const paid = [await send(), await send()]
    const unknown = await call('POST', '/v4/payment/unknown', { token: payer.token, body: {} })
    const { principal } = await entryOf(call, unknown)
    const found = async (query: string) => {
      const { requests } = (await call('GET', `/_sandbox/requests?limit=100&${query}`)).body
      return requests.map(({ id }: { id: string }) => id)
    }
    const [last = '', second = '', first = ''] = await found('operation_id=createPayment')
    expect([second, first]).toEqual(paid.map(idOf).reverse())
    expect(last).toBe(idOf(unknown))
    expect(await found('operation_id=createPayment&status=404')).toEqual([last])
    expect(await found(`principal=${principal}&status=202`)).toEqual([second, first])
    expect(await found(`q=${commodity.hash.toUpperCase()}&operation_id=createPayment`)).toEqual([second, first])
    expect(await found('trace=0af7651916cd43dd8448eb211c80319c')).toEqual([])
    const page = (await call('GET', '/_sandbox/requests?operation_id=createPayment&limit=2')).body
    expect(page).toMatchObject({ next: second, dropped: 0 })
    const rest = (await call('GET', `/_sandbox/requests?operation_id=createPayment&after=${second}`)).body
    expect(rest.requests.map(({ id }: { id: string }) => id)).toEqual([first])
    expect(rest.next).toBeNull()
    expectProblem(await call('GET', '/_sandbox/requests?after=req_gone_0000001'), 400, 'cursor_invalid')
    expectProblem(await call('GET', '/_sandbox/requests/req_gone_0000001'), 404, 'not_found')
    expectProblem(await call('GET', '/_sandbox/requests?limit=1001'), 400, 'field_invalid')
  })

  test('a delivery and a timer have entries, which name what caused them', async () => {
    const { call } = await start()
    await stopClock(call)
    const session = (await call('GET', '/v4/session')).body.session_id
    const asked = await call('POST', '/v4/session/code', { session, body: { email: 'ada@example.test' } })
    const [{ codes }] = (await call('GET', '/_sandbox/outbox?to=ada@example.test')).body.messages
    await advance(call, '2d')
    const { caused } = await entryOf(call, asked)
    const causedBy = (kind: string) => caused.find((effect: { kind: string }) => effect.kind === kind)?.id
    expect(causedBy('mail')).toEqual(expect.any(Number))
    const delivery = (await call('GET', `/_sandbox/requests/${causedBy('entry')}`)).body
    expect(delivery).toMatchObject({ origin: 'delivery', operation_id: 'mail', caused_by: idOf(asked) })
    const { requests } = (await call('GET', '/_sandbox/requests?operation_id=sweep')).body
    expect(requests[0]).toMatchObject({ origin: 'timer', method: 'RUN', status: null })
    const all = JSON.stringify((await call('GET', '/_sandbox/requests?limit=1000')).body)
    expect(all).not.toContain(codes[0])
    expect(all).not.toContain(session)
  })

  test('a retry names the entry whose answer it repeats', async () => {
    const {
      call,
      made: { commodity, payer },
    } = await startWith(start, newShop)
    const send = () =>
      call('POST', `/v4/payment/${commodity.hash}`, {
        token: payer.token,
        body: {},
        headers: { 'idempotency-key': 'once' },
      })
    const first = await send()
    const again = await send()
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await entryOf(call, again)).toMatchObject({ caused_by: idOf(first), caused: [] })
  })

  test('a refusal has its code, and a path that does not exist has no operation', async () => {
    const { call } = await start()
    const refused = await call('GET', '/v4/account', { headers: basic('nobody', 'wrong') })
    expect(await entryOf(call, refused)).toMatchObject({ status: 401, code: refused.body.code, principal: null })
    const lost = await call('GET', '/v4/nothing-here?token=abc')
    expect(await entryOf(call, lost)).toMatchObject({
      operation_id: null,
      path: '/v4/nothing-here?token=[redacted]',
      code: 'no_such_path',
    })
  })

  test('a body is cut at 16 KiB, and the cut leaves no half of a secret', async () => {
    const {
      call,
      made: { seller },
    } = await startWith(start, newShop)
    const data = { long: 'x'.repeat(16_384 - 60), token: 'a-secret-that-the-cut-would-divide' }
    const written = await call('POST', '/v4/events', {
      token: seller.token,
      body: { type: 'client.note', data: { ...data, long: data.long.slice(0, 8000) } },
    })
    expect((await entryOf(call, written)).request).toMatchObject({ body: expect.stringContaining('[redacted]') })
    const refused = await call('POST', '/v4/events', { token: seller.token, body: { type: 'client.note', data } })
    const { request } = await entryOf(call, refused)
    expect(request.cut).toBe(true)
    expect(request.body.length).toBeLessThanOrEqual(16_384)
    expect(request.body).not.toContain('a-secret')
  })
})

contract('listRequests as a stream', (start) => {
  test('continues behind the last entry that the reader saw, and ends with the reader', async () => {
    const { call, url, fetch } = await start()
    const seen = await call('GET', '/v4/dq')
    const missed = await call('GET', '/v4/session')
    const ending = new AbortController()
    const stream = await fetch(
      new Request(`${url}/_sandbox/requests?operation_id=readSession`, {
        headers: { accept: 'text/event-stream', 'last-event-id': idOf(seen) },
        signal: ending.signal,
      }),
    )
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('\n\n')) text += (await reader?.read())?.value ?? ''
    expect(text).toContain(`id: ${idOf(missed)}\n\n`)
    const next = await call('GET', '/v4/session')
    while (!text.includes(idOf(next))) text += (await reader?.read())?.value ?? ''
    expect(text).not.toContain(`id: ${idOf(seen)}`)
    await reader?.cancel()
    ending.abort()
  })
})

contract('clearRequests', (start) => {
  test('empties the journal and leaves the state', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { commodity, payer },
    } = await startWith(start, newShop)
    await pay(call, payer, commodity)
    expect((await call('DELETE', '/_sandbox/requests')).status).toBe(204)
    expect((await call('GET', '/_sandbox/requests')).body.requests).toEqual([])
    expect((await call('GET', '/v4/payments', { token: payer.token })).body.payments).toHaveLength(1)
  })

  test('finds none where none is kept', async () => {
    const { call } = await start({ journal: false })
    for (const method of ['GET', 'DELETE'] as const)
      expectProblem(await call(method, '/_sandbox/requests'), 404, 'not_found')
  })
})
