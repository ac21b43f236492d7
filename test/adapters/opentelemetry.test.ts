import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openTelemetryTracer } from '../../adapters/opentelemetry.js'
import { createService, type ServiceOptions } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newShop, purchase } from '../support/scenes/catalog.js'
import { pay } from '../support/scenes/market.js'
import { newWebhook, writeEvent } from '../support/scenes/webhooks.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'
import { failingStorage } from '../support/storage/failing-storage.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const traceparent = `00-${TRACE}-${PARENT}-01`

function start(options: ServiceOptions = {}) {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const service = createService({
    ...{ sandbox: true, limits: { closeMs: 50 }, log: { error() {} } },
    upstream: { fetch: async () => Response.json({ story: 'sunny' }) },
    ...options,
    tracer: openTelemetryTracer({ tracerProvider }),
  })
  onTestFinished(() => service.close())
  return {
    service,
    tracerProvider,
    call: caller({ url: service.baseUrl, fetch: service.fetch }),
    spans: () => exporter.getFinishedSpans(),
    named: (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name),
    forget: () => exporter.reset(),
  }
}

const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId
const traceOf = (span: ReadableSpan | undefined) => span?.spanContext().traceId
const within = (spans: readonly ReadableSpan[], parent: ReadableSpan | undefined) =>
  spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === idOf(parent)).map(({ name }) => name)

describe('The spans of a request', () => {
  test('continue the trace of the caller, and hold its transactions', async () => {
    const { service, call, spans, named, forget } = start({ baseUrl: 'http://127.0.0.1:4242/pay' })
    const seller = await newSeller(call)
    const { hash } = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 5 })
    forget()
    const headers = { traceparent, tracestate: 'vendor=1' }
    const paid = await call('POST', `/v4/payment/${hash}`, { token: payer.token, headers })
    expect(paid.status).toBe(202)
    const [span] = named('POST /pay/v4/payment/:hash')
    expect(traceOf(span)).toBe(TRACE)
    expect(span?.spanContext().traceState?.get('vendor')).toBe('1')
    expect(span?.parentSpanContext).toMatchObject({ spanId: PARENT, isRemote: true })
    expect(span?.kind).toBe(SpanKind.SERVER)
    expect(span?.status.code).toBe(SpanStatusCode.UNSET)
    expect(span?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/pay/v4/payment/:hash',
      'http.response.status_code': 202,
      'url.scheme': 'http',
      'url.path': `/pay/v4/payment/${hash}`,
      'server.address': '127.0.0.1',
      'server.port': 4242,
      'farthing.operation_id': 'createPayment',
      'farthing.request_id': paid.headers.get('x-request-id'),
    })
    expect(within(spans(), span)).toEqual(['storage write'])
    const [write] = named('storage write')
    expect(write?.kind).toBe(SpanKind.INTERNAL)
    expect(write?.attributes).toMatchObject({ 'farthing.storage': 'memory', 'farthing.storage.runs': 1 })
    const entry = await service.sandbox.requests.read(String(paid.headers.get('x-request-id')))
    expect(entry.trace).toBe(TRACE)
  })

  test.each([
    ['of another form', 'nonsense'],
    ['with an id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['with a parent of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['of version ff', `ff-${TRACE}-${PARENT}-01`],
    ['of version 00 with more parts', `00-${TRACE}-${PARENT}-01-more`],
    ['in upper case', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
  ])('begin a trace of their own after a traceparent %s', async (_, wrong) => {
    const { call, named } = start()
    expect((await call('GET', '/v4/dq', { headers: { traceparent: wrong } })).status).toBe(200)
    const [span] = named('GET /v4/dq')
    expect(traceOf(span)).toMatch(/^(?!0af7651916cd43dd8448eb211c80319c)[\da-f]{32}$/)
    expect(span?.parentSpanContext).toBeUndefined()
  })

  test('continue a trace of a later version, and take over that it is not recorded', async () => {
    const { call, spans, named } = start()
    await call('GET', '/v4/dq', { headers: { traceparent: `01-${TRACE}-${PARENT}-01-more` } })
    expect(traceOf(named('GET /v4/dq')[0])).toBe(TRACE)
    const before = spans().length
    await call('GET', '/v4/dq', { headers: { traceparent: `00-${TRACE}-${PARENT}-00` } })
    expect(spans().length).toBe(before)
  })

  test('have a name that no caller can choose, and no span for probes', async () => {
    const { service, call, spans } = start()
    await call('GET', '/nowhere/123')
    await service.respond(new Request(`${service.baseUrl}/v4/dq`, { method: 'PURGE' }), {})
    for (const path of ['/healthz', '/readyz', '/metrics']) await call('GET', path)
    const requests = spans().filter(({ kind }) => kind === SpanKind.SERVER)
    expect(requests.map(({ name }) => name)).toEqual(['GET', 'HTTP'])
    expect(requests.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([404, 405])
    expect(JSON.stringify(requests.map(({ attributes }) => attributes))).not.toContain('nowhere')
  })

  test('fail only if the service does, and show no message of an error', async () => {
    const storage = failingStorage()
    const { call, spans, named } = start({ storage })
    const seller = await newSeller(call)
    const { hash } = await newCommodity(call, seller)
    const payer = await newPayer(call, seller)
    expect((await call('POST', `/v4/payment/${hash}`, { token: payer.token })).status).toBe(402)
    const [refused] = named('POST /v4/payment/:hash')
    expect(refused?.status.code).toBe(SpanStatusCode.UNSET)
    const write = spans().find(({ attributes }) => attributes['farthing.code'] === 'insufficient_funds')
    expect([write?.name, write?.status.code]).toEqual(['storage write', SpanStatusCode.UNSET])
    storage.failing = 'writes'
    expect((await call('POST', '/v4/account')).status).toBe(500)
    storage.failing = 'nothing'
    const failed = spans().filter(({ status }) => status.code === SpanStatusCode.ERROR)
    expect(failed.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['storage write', 'Error'],
      ['POST /v4/account', '500'],
    ])
    expect(JSON.stringify(failed.map(({ status, attributes, events }) => [status, attributes, events]))).not.toContain(
      'secret path',
    )
  })

  test('end too if a fault drops the answer', async () => {
    const { call, named } = start()
    await expect(call('GET', '/v4/dq', { headers: { 'x-sandbox-fault': 'before; drop' } })).rejects.toThrow()
    const [span] = named('GET /v4/dq')
    expect(span?.attributes).toMatchObject({ 'error.type': 'dropped', 'farthing.fault': expect.any(String) })
  })

  test('end when the answer begins: a stream that goes on reading adds no spans', async () => {
    const { service, call, named } = start()
    const seller = await newSeller(call)
    const headers = { authorization: `Bearer ${seller.token}`, accept: 'text/event-stream' }
    const stream = await service.fetch('/v4/events', { headers })
    const reads = () => named('storage read').length
    const before = reads()
    const reader = stream.body?.getReader()
    let text = ''
    await writeEvent(call, seller)
    while (!text.includes('client.done')) text += new TextDecoder().decode((await reader?.read())?.value)
    await reader?.cancel()
    expect(reads()).toBe(before)
    expect(named('GET /v4/events')).toHaveLength(1)
  })

  test('are there in a service without a sandbox, and without a journal', async () => {
    for (const options of [{ sandbox: false }, { journal: false }]) {
      const { call, named } = start(options)
      const { headers } = await call('GET', '/v4/dq')
      expect(headers.get('x-request-id')).toBeNull()
      expect(named('GET /v4/dq')[0]?.attributes).not.toHaveProperty('farthing.request_id')
    }
  })
})

describe('What a request causes', () => {
  test('is in its trace: a call of a seller', async () => {
    const { call, spans, named, forget } = start()
    const shop = await newShop(call, {
      external_endpoint: 'https://api.example.test:8443/weather/hidden-part?key=hidden',
    })
    forget()
    const caller = { token: shop.payer.token, headers: { traceparent } }
    expect((await purchase(call, caller, shop.item, { arguments: { city: 'Oslo' } })).status).toBe(201)
    const [request] = spans().filter(({ kind }) => kind === SpanKind.SERVER)
    const [upstream] = named('GET')
    expect(upstream?.kind).toBe(SpanKind.CLIENT)
    expect(upstream?.parentSpanContext?.spanId).toBe(idOf(request))
    expect(upstream?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'url.scheme': 'https',
      'server.address': 'api.example.test',
      'server.port': 8443,
    })
    expect(within(spans(), request)).toEqual(expect.arrayContaining(['storage write', 'GET']))
  })

  test('is in its trace: a mail, and a webhook, although they leave later', async () => {
    const { call, named } = start({ mailer: { send: async () => {} } })
    const seller = await newSeller(call)
    await newWebhook(call, seller)
    const headers = { traceparent }
    const answer = await call('POST', '/v4/session/code', { body: { email: 'ada@example.test' }, headers })
    expect(answer.status).toBeLessThan(300)
    await expect.poll(() => named('deliver mail').map(traceOf)).toEqual([TRACE])
    const [mail] = named('deliver mail')
    const [sent] = named('send mail')
    expect([sent?.kind, sent?.parentSpanContext?.spanId]).toEqual([SpanKind.CLIENT, idOf(mail)])
    await writeEvent((method, path, options) => call(method, path, { ...options, headers }), seller)
    await expect.poll(() => named('deliver webhook').map(traceOf)).toEqual([TRACE])
    const [posted] = named('POST')
    expect(posted?.parentSpanContext?.spanId).toBe(idOf(named('deliver webhook')[0]))
  })

  test('holds no secret: no token, code, address, nonce or text of anybody', async () => {
    const { service, call, spans } = start()
    const seller = await newSeller(call)
    const commodity = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 5 })
    const { nonce } = await pay(call, payer, commodity)
    await call('POST', '/v4/session/code', { body: { email: 'ada@example.test' } })
    const [message] = (await service.sandbox.outbox({ to: 'ada@example.test' })).messages
    const shown = JSON.stringify(
      spans().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
    )
    for (const secret of [seller.token, payer.token, nonce, ...(message?.codes ?? []), 'ada@example.test'])
      expect([secret, shown.includes(String(secret))]).toEqual([secret, false])
    expect(message?.codes).toHaveLength(1)
  })
})

describe('Where a span is active', () => {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterAll(() => context.disable())

  test('a call in process is a part of it, and ports see the span of their own call', async () => {
    const seen: (string | undefined)[] = []
    const { tracerProvider, call, named } = start({
      mailer: { send: async () => void seen.push(trace.getActiveSpan()?.spanContext().spanId) },
    })
    const outer = tracerProvider.getTracer('test').startSpan('outer')
    await context.with(trace.setSpan(context.active(), outer), () =>
      call('POST', '/v4/session/code', { body: { email: 'ada@example.test' } }),
    )
    outer.end()
    await expect.poll(() => seen.length).toBe(1)
    await expect.poll(() => named('send mail').map(idOf)).toEqual(seen)
    const [request] = named('POST /v4/session/code')
    expect(request?.parentSpanContext?.spanId).toBe(outer.spanContext().spanId)
  })

  test('a request over a network is not, because it may be the span of a different one', async () => {
    const { tracerProvider, service, named } = start()
    const outer = tracerProvider.getTracer('test').startSpan('outer')
    await context.with(trace.setSpan(context.active(), outer), () =>
      service.respond(new Request(`${service.baseUrl}/v4/dq`), { peerAddress: '127.0.0.1' }),
    )
    expect(named('GET /v4/dq')[0]?.parentSpanContext).toBeUndefined()
  })
})

test('a tracer of OpenTelemetry itself is refused with the name of the option', () => {
  const tracer = new BasicTracerProvider().getTracer('test')
  // @ts-expect-error: JavaScript has no types that say so.
  expect(() => createService({ tracer })).toThrow('tracer must be an object with start()')
})
