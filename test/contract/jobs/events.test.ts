import { expect, test } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { settledRows } from '../../support/contract/settled.js'
import { expectProblem } from '../../support/scenes/market.js'
import { askCode, newGuest, verify } from '../../support/scenes/sign-in.js'
import { newCommodity, newPayer, newSeller, newSession } from '../../support/scenes/world.js'

contract('The event log', (start) => {
  /** A market in which one thing was sold and validated. */
  async function used() {
    const running = await start()
    const { call } = running
    const seller = await newSeller(call)
    const commodity = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 5 })
    const paid = (await call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token })).body
    const body = { nonce: paid.nonce, timestamp: paid.timestamp }
    await call('POST', `/v4/payment/${commodity.hash}/validate`, { token: seller.token, body })
    return { ...running, seller, payer, commodity, paid }
  }

  const typesOf = async (call: Call, token: string, query = ''): Promise<string[]> =>
    (await call('GET', `/v4/events${query}`, { token })).body.events.map(({ type }: { type: string }) => type)

  test('listEvents lists the events of each side, newest first', async () => {
    const { call, seller, payer, commodity, paid } = await used()
    expect(await typesOf(call, payer.token)).toEqual(['payment.validated', 'payment.created', 'token.issued'])
    const [ofPayer, ofSeller] = await Promise.all(
      [payer, seller].map(async ({ token }) => (await call('GET', '/v4/events?limit=2', { token })).body.events),
    )
    expect(ofSeller).toEqual(ofPayer)
    expect(await typesOf(call, seller.token)).toEqual([
      'payment.validated',
      'payment.created',
      'token.issued',
      'account.created',
    ])
    const [, created] = (await call('GET', '/v4/events', { token: payer.token })).body.events
    expect(created).toEqual({
      id: expect.any(Number),
      type: 'payment.created',
      actor: `user:${payer.id}`,
      subject: `payment:${paid.id}`,
      data: {
        hash: commodity.hash,
        descriptor: 'NEWS.ARTICLE',
        dq: commodity.dq,
        amount: 0.25,
        hostname: payer.hostname,
        payee_hostname: commodity.hostname,
      },
      created_at: paid.created_at,
    })
  })

  test('listEvents has no event for a refused payment', async () => {
    const { call, payer, seller } = await used()
    const dear = await newCommodity(call, seller, { cost: 100 })
    const before = await typesOf(call, payer.token)
    expectProblem(await call('POST', `/v4/payment/${dear.hash}`, { token: payer.token }), 402, 'insufficient_funds')
    expect(await typesOf(call, payer.token)).toEqual(before)
  })

  test('listEvents works with a signed-in session, filters by type, and has pages', async () => {
    const { call, payer, state } = await used()
    const session = await newSession(call, payer.email)
    await settledRows(state)
    const all = (await call('GET', '/v4/events?limit=100', { session })).body.events
    expect(await typesOf(call, payer.token, '?type=payment.created')).toEqual(['payment.created'])
    expect(await typesOf(call, payer.token, '?type=payment')).toEqual([])
    expect(await typesOf(call, payer.token, '?type=payment.*')).toEqual(['payment.validated', 'payment.created'])
    expect(await typesOf(call, payer.token, '?type=payment.*&limit=1')).toEqual(['payment.validated'])
    expect(await typesOf(call, payer.token, '?type=pay*')).toEqual([])
    expect(await typesOf(call, payer.token, '?type=*&limit=100')).toEqual(all.map(({ type }: { type: string }) => type))
    const seen = []
    for (let after: number | null | undefined; after !== null; ) {
      const { body } = await call('GET', `/v4/events?limit=1${after ? `&after=${after}` : ''}`, { session })
      seen.push(...body.events)
      after = body.next
    }
    expect(seen).toEqual(all)
    expectProblem(await call('GET', '/v4/events?after=999999', { session }), 400, 'cursor_invalid')
  })

  test('listEvents streams new events, from now on or after the last seen one', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { url, fetch, call, payer, commodity } = await used()
    const authorization = `Bearer ${payer.token}`
    const follow = async (headers: Record<string, string> = {}, query = '') => {
      const accept = 'text/event-stream'
      const request = new Request(`${url}/v4/events${query}`, { headers: { accept, authorization, ...headers } })
      const answer = await fetch(request)
      expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      return messagesOf(answer.body as ReadableStream<Uint8Array>)
    }
    const all = (await call('GET', '/v4/events', { token: payer.token })).body.events
    const first = all.at(-1)
    const replayed = await follow({ 'last-event-id': String(first.id) })
    expect(await replayed.next()).toEqual({ id: String(all[1].id), event: 'payment.created', data: all[1] })
    expect(await replayed.next()).toEqual({ id: String(all[0].id), event: 'payment.validated', data: all[0] })
    await replayed.cancel()

    const live = await follow({}, '?type=payment.*')
    const { body } = await call('POST', `/v4/payment/${commodity.hash}`, { token: payer.token })
    expect((await live.next()).data).toMatchObject({ type: 'payment.created', subject: `payment:${body.id}` })
    await live.cancel()
  })

  test("readEvent shows only the caller's own events", { tags: 'everywhere' }, async () => {
    const { call, payer, seller } = await used()
    const { body } = await call('GET', '/v4/events?type=token.issued', { token: payer.token })
    const [mine] = body.events
    expect((await call('GET', `/v4/events/${mine.id}`, { token: payer.token })).body).toEqual(mine)
    for (const [id, token] of [
      [mine.id, seller.token],
      [999_999, payer.token],
    ])
      expectProblem(await call('GET', `/v4/events/${id}`, { token }), 404, 'not_found')
  })

  test("createEvent records a client's own event, which only the client sees", {
    tags: 'everywhere',
  }, async () => {
    const { call, payer, seller } = await used()
    const body = { type: 'client.basket.opened', data: { items: [1, { a: null }] } }
    const written = await call('POST', '/v4/events', { token: payer.token, body })
    expect(written).toMatchObject({ status: 201, body: { ...body, actor: `user:${payer.id}`, subject: null } })
    const bare = await call('POST', '/v4/events', { token: payer.token, body: { type: 'client.closed' } })
    expect(bare.body.data).toEqual({})
    expect(await typesOf(call, payer.token, '?limit=2')).toEqual(['client.closed', 'client.basket.opened'])
    expect(await typesOf(call, seller.token)).not.toContain('client.closed')
  })

  test("createEvent refuses the service's own types, and more than 8 KiB", async () => {
    const { call, payer } = await used()
    const send = (body: object) => call('POST', '/v4/events', { token: payer.token, body })
    for (const type of ['client', 'client.', 'payment.created', 'client.A', `client.${'x'.repeat(100)}`, 7])
      expectProblem(await send({ type }), 400, 'field_invalid')
    const data = (length: number) => ({ type: 'client.big', data: { text: 'é'.repeat(length) } })
    // `{"text":""}` is 11 bytes, and é two.
    expect((await send(data((8192 - 11 - 1) / 2))).status).toBe(201)
    expectProblem(await send(data((8192 - 11 + 1) / 2)), 400, 'field_invalid')
  })
})

interface Message {
  id: string
  event: string
  data: { type: string; subject: string }
}

/** The messages of an event stream, comments left out. */
function messagesOf(body: ReadableStream<Uint8Array>) {
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader() as ReadableStreamDefaultReader<string>
  let text = ''
  return {
    async next(): Promise<Message> {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end < 0) {
          const { done, value } = await reader.read()
          if (done) throw new Error('the stream ended')
          text += value
          continue
        }
        const block = text.slice(0, end).split('\n')
        const lines = block.filter((line) => !line.startsWith(':'))
        text = text.slice(end + 2)
        const fields = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s).slice(0, 2)))
        if (fields.event) return { ...fields, data: JSON.parse(fields.data) }
      }
    },
    cancel: () => reader.cancel(),
  }
}

contract('the event of a mail', (start) => {
  test('to an address without a user waits for whoever proves the address', {
    tags: 'everywhere',
  }, async () => {
    const { call, made: session } = await startWith(start, newGuest)
    const email = 'new@example.test'
    await askCode(call, session, email)
    const sent = async () => (await call('GET', `/_sandbox/outbox?to=${email}`)).body.messages[0]
    await expect.poll(async () => (await sent()).status).toBe('sent')
    const { id, codes } = await sent()
    const signedIn = await verify(call, session, email, codes[0])
    const { events } = (await call('GET', '/v4/events', { session: signedIn.headers.get('x-session-id') ?? '' })).body
    expect(events.filter(({ type }: { type: string }) => type === 'email.sent')).toMatchObject([
      { actor: 'service', subject: `message:${id}`, data: { subject: expect.not.stringContaining(codes[0]) } },
    ])
    const other = await newSession(call, 'other@example.test')
    const shown = (await call('GET', '/v4/events', { session: other })).body.events
    expect(JSON.stringify(shown)).not.toContain(`message:${id}"`)
  })
})
