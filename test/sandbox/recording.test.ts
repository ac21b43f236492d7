import { expect, test } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { digest } from '../../src/base/secrets.js'
import { collections } from '../../src/collections.js'
import type { ServiceContext } from '../../src/http/context.js'
import type { FetchSource, Incoming } from '../../src/http/incoming.js'
import type { BackgroundWork } from '../../src/http/recorder.js'
import type { RenderedAnswer } from '../../src/http/rendered-answer.js'
import { Journal } from '../../src/sandbox/journal/journal.js'
import { type KeptEntry, showEntry } from '../../src/sandbox/journal/kept-entry.js'
import { learnMarks } from '../../src/sandbox/journal/marked-names.js'
import { CauseIndex, type EntryRecording, effectsOf } from '../../src/sandbox/journal/recording.js'
import type { Effect } from '../../src/sandbox/onion/entry.js'

learnMarks(routeList, collections)

const HEX = '0123456789abcdef'

interface Sent {
  readonly path?: string
  readonly url?: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly source?: FetchSource
  readonly more?: Partial<Incoming>
}

function incomingOf({ path = '/v4/dq', url, method = 'GET', headers = {}, source = {}, more }: Sent): Incoming {
  const request = new Request('http://service.example.test/', { method })
  const at = url ?? `http://service.example.test${path}`
  const given = { path, url: at, method, headers: new Headers(headers), request, source, params: {}, ms: 1.23456 }
  return { ...given, clientAddress: undefined, endpoint: undefined, principal: undefined, ...more } as Incoming
}

function newJournal(limits = {}) {
  const journal = new Journal({ clock: { now: () => 1_790_000_000_000 }, instance: 'abc', history: undefined }, limits)
  const entryOf = ({ id }: { readonly id: string | undefined }) => journal.entry(id ?? '') as KeptEntry
  return {
    ...{ journal, entryOf },
    begin: (sent: Sent) => {
      const incoming = incomingOf(sent)
      const recording = journal.beginRequest(incoming) as NonNullable<ReturnType<Journal['beginRequest']>>
      return { incoming, recording, entry: entryOf(recording) }
    },
    work: (work: Partial<BackgroundWork> = {}) => {
      const recording = journal.beginWork({ origin: 'timer', kind: 'sweep', id: 7, ...work }) as EntryRecording &
        ReturnType<Journal['beginWork']>
      return { recording, entry: entryOf(recording) }
    },
  }
}

const answer = (more: Partial<RenderedAnswer> = {}): RenderedAnswer => ({
  status: 200,
  headers: {},
  body: null,
  ...more,
})

test.each<[string, Sent]>([
  ['page', { headers: { 'x-farthing-page': '1' }, path: '/mcp' }],
  ['mcp', { path: '/mcp', source: { origin: 'worker' } }],
  ['mcp', { path: '/mcp/tools' }],
  ['mcp', { path: '/_sandbox/mcp' }],
  ['in_process', { path: '/v4/mcp' }],
  ['in_process', { path: '/mcps' }],
  ['worker', { path: '/x/_sandbox/mcp', source: { origin: 'worker', peerAddress: '127.0.0.1' } }],
  ['http', { source: { peerAddress: '' } }],
  ['in_process', {}],
])('a request comes from %s: %j', (origin, sent) => {
  expect(newJournal().begin(sent).entry.origin).toBe(origin)
})

const TRACE = '0af7651916cd43dd8448eb211c80319c'
test.each<[Sent, Partial<KeptEntry>]>([
  [{ path: '/a' }, { path: '/a' }],
  [{ path: '/a', url: 'http://service.example.test/base/a?b=1&c=2#d' }, { path: '/a?b=1&c=2' }],
  [{ path: '/a', url: '?b=1' }, { path: '/a?b=1' }],
  [{ path: '/a', url: 'http://service.example.test/a#?b' }, { path: '/a?b' }],
  [{ method: 'POST' }, { method: 'POST' }],
  [{ more: { clientAddress: '192.0.2.1' } }, { client_address: '192.0.2.1' }],
  [{ source: { causedBy: 'req_1' } }, { caused_by: 'req_1' }],
  [{ headers: { traceparent: `00-${TRACE}-b7ad6b7169203331-01` } }, { trace: TRACE }],
  [{ headers: { traceparent: `00-${TRACE}-b7ad6b7169203331` } }, { trace: undefined as never }],
  [{ headers: { traceparent: `x00-${TRACE}-b7ad6b7169203331-01` } }, { trace: undefined as never }],
])('a request %j begins an entry with %j', (sent, expected) => {
  const { entry } = newJournal().begin(sent)
  for (const [name, value] of Object.entries(expected)) expect(entry[name as keyof KeptEntry]).toBe(value)
  for (const name of ['client_address', 'caused_by', 'trace'] as const)
    expect(Object.hasOwn(entry, name) && entry[name] !== undefined).toBe(expected[name] !== undefined)
})

test.each<[string, Partial<RenderedAnswer> | undefined, Partial<ReturnType<typeof showEntry>>]>([
  ['none', undefined, { status: null, response: { headers: {}, body: null } }],
  ['one without a body', {}, { status: 200, response: { headers: {}, body: null } }],
  [
    'JSON',
    { body: '{"a":1}', headers: { 'content-type': 'application/json' } },
    { response: { headers: { 'content-type': 'application/json' }, body: '{"a":1}' } },
  ],
  [
    'a problem',
    { status: 402, body: '{"code":"low"}', headers: { 'content-type': 'application/problem+json' } },
    { code: 'low' },
  ],
  [
    'a page',
    { body: '<p>', headers: { 'content-type': 'text/html' } },
    { response: { headers: { 'content-type': 'text/html' }, body: null } },
  ],
  ['a text without a type', { body: 'text' }, { response: { headers: {}, body: 'text' } }],
  ['a code that is no refusal', { status: 399, body: '{"code":"low"}' }, { code: undefined as never }],
  ['the least refusal', { status: 400, body: '{"code":"low"}' }, { code: 'low' }],
  [
    'a refusal in bytes',
    { status: 400, body: new TextEncoder().encode('{"code":"low"}') },
    { code: undefined as never },
  ],
  ['a refusal without a code', { status: 400, body: '{}' }, { code: undefined as never }],
])('the entry of an answer, %s', (_, given, expected) => {
  const { begin } = newJournal()
  const { recording, incoming, entry } = begin({})
  recording.end(incoming, given && answer(given))
  const shown = showEntry(entry)
  for (const [name, value] of Object.entries(expected)) expect(shown[name as 'code']).toEqual(value)
  expect([shown.ms, shown.principal, shown.operation_id]).toEqual([1.235, null, null])
})

test('an entry names its caller and its operation, and knows what its path names, which it never shows', () => {
  const delegate = `41${HEX.repeat(4)}`
  const ended = (params: Record<string, string>) => {
    const { recording, incoming, entry } = newJournal().begin({ headers: { accept: 'a' } })
    const route = { id: 'readDq' }
    recording.takeBody('{"a":1}')
    Object.assign(incoming, { params, endpoint: { route }, principal: { kind: 'agent', connection_id: 3 } })
    recording.end(incoming, answer({ facts: { due: 1 } }))
    expect(entry.route).toBe(route)
    expect(entry.facts).toEqual({ due: 1 })
    expect(showEntry(entry)).toMatchObject({
      ...{ operation_id: 'readDq', principal: 'agent:3' },
      request: { headers: { accept: 'a' }, body: '{"a":1}' },
    })
    expect(JSON.stringify(showEntry(entry))).not.toContain(HEX)
    return [entry.tokenDigest, entry.delegate]
  }
  expect(ended({ token: 'secret' })).toEqual([digest('secret'), undefined])
  expect(ended({ delegate })).toEqual([undefined, delegate])
  for (const wrong of [`${delegate}0`, `x${delegate}`, delegate.slice(1)])
    expect(ended({ delegate: wrong })).toEqual([undefined, undefined])
})

test('an answer that is repeated names the entry that made it: of the same caller, method, path and key', () => {
  const { begin, entryOf } = newJournal()
  const send = (key: string, more: Sent = {}, isReplay = true, principal?: object) => {
    const { recording, incoming } = begin({ ...more, headers: { 'idempotency-key': key } })
    Object.assign(incoming, { principal })
    recording.end(incoming, answer(isReplay ? { headers: { 'idempotent-replayed': 'true' } } : {}))
    return entryOf(recording)
  }
  const first = send('a', {}, false)
  expect(first.caused_by).toBeUndefined()
  expect(send('a').caused_by).toBe(first.id)
  expect(send('a', {}, false).caused_by).toBeUndefined()
  expect(send('a').caused_by).toBe(first.id)
  for (const other of [send('b'), send('a', { path: '/v4/x' }), send('a', { method: 'POST' })])
    expect(other.caused_by).toBeUndefined()
  expect(send('a', {}, true, { kind: 'agent', connection_id: 3 }).caused_by).toBeUndefined()
})

test('a key is kept as it is, or by its digest if what it names is longer than 256 characters', () => {
  const { begin, journal } = newJournal()
  const named = (key: string) => `null:GET:/v4/dq:${key}`
  for (const length of [1, 240, 241]) {
    const key = 'k'.repeat(length)
    const { recording, incoming } = begin({ headers: { 'idempotency-key': key } })
    recording.end(incoming, answer())
    const kept = named(key)
    const [whole, digested] = [kept, digest(kept)].map((text) => journal.causes.of(`key:${text}`))
    expect([whole, digested]).toEqual(kept.length > 256 ? [undefined, recording.id] : [recording.id, undefined])
  }
  expect(named('k'.repeat(240))).toHaveLength(256)
})

test('a request that follows from another is an effect of it', () => {
  const { begin } = newJournal()
  const first = begin({})
  const { recording, incoming, entry } = begin({ source: { causedBy: first.entry.id } })
  recording.end(incoming, answer())
  expect(first.entry.caused).toEqual([{ kind: 'entry', id: entry.id }])
  const lost = begin({ source: { causedBy: 'req_gone_1' } })
  lost.recording.end(lost.incoming, answer())
  expect(lost.entry.caused_by).toBe('req_gone_1')
})

const KINDS = ['movement', 'event', 'mail', 'push', 'card', 'upstream', 'webhook', 'timer', 'entry'] as const

test.each(KINDS)(
  'an effect %s is kept once, unless it is a call, and leads to the entries that follow from it',
  (kind) => {
    const { work, journal } = newJournal()
    const { recording, entry } = work()
    const other: Effect = { kind: kind === 'mail' ? 'push' : 'mail', id: 5 }
    for (const effect of [{ kind, id: 5 }, { kind, id: 6 }, other, { kind, id: 5 }]) recording.cause(effect)
    const again = kind === 'upstream' ? [{ kind, id: 5 }] : []
    expect(entry.caused).toEqual([{ kind, id: 5 }, { kind, id: 6 }, other, ...again])
    const isDelivery = ['mail', 'push', 'card', 'webhook'].includes(kind)
    expect(journal.causes.of('timer:6')).toBe(kind === 'timer' ? entry.id : undefined)
    expect(journal.causes.of('delivery:6')).toBe(isDelivery ? entry.id : undefined)
  },
)

test('a delivery and a timer follow from what set them, and a message is no effect of its own delivery', () => {
  const { work, journal } = newJournal()
  const first = work()
  for (const kind of KINDS) first.recording.cause({ kind, id: 5 })
  const timer = work({ origin: 'timer', id: 5, kind: 'expiry' })
  const delivery = work({ origin: 'delivery', id: 5, kind: 'mail' })
  const neither = work({ origin: 'delivery', id: 6 })
  expect([timer, delivery, neither].map(({ entry }) => entry.caused_by)).toEqual([
    first.entry.id,
    first.entry.id,
    undefined,
  ])
  expect(first.entry.caused.slice(-2)).toEqual([timer, delivery].map(({ entry: { id } }) => ({ kind: 'entry', id })))
  expect(showEntry(timer.entry)).toMatchObject({
    origin: 'timer',
    operation_id: 'expiry',
    method: 'RUN',
    path: 'timers/5',
  })
  expect(showEntry(delivery.entry)).toMatchObject({
    origin: 'delivery',
    operation_id: 'mail',
    method: 'SEND',
    path: 'outbox/5',
  })
  for (const kind of KINDS) for (const { recording } of [timer, delivery]) recording.cause({ kind, id: 5 })
  expect(timer.entry.caused.map(({ kind }) => kind)).toEqual(KINDS)
  const rows = ['mail', 'push', 'card', 'webhook']
  expect(delivery.entry.caused.map(({ kind }) => kind)).toEqual(KINDS.filter((kind) => !rows.includes(kind)))
  delivery.recording.cause({ kind: 'mail', id: 6 })
  expect(journal.causes.of('delivery:6')).toBe(delivery.entry.id)
})

const change = (name: string, id: number, is: object | undefined) => ({ collection: { name }, id, is }) as never

test('new rows are effects: movements, events, timers, and messages by their kind', () => {
  const message = (kind: unknown) => change('outbox', 9, { kind })
  const kinds = ['mail', 'push', 'card', 'refund', 'webhook', 'other', undefined]
  expect(effectsOf(kinds.map(message)).map(({ kind }) => kind)).toEqual(['mail', 'push', 'card', 'card', 'webhook'])
  expect(effectsOf([change('outbox', 9, {})])).toEqual([])
  const rows = ['movements', 'events', 'timers', 'others'].map((name, id) => change(name, id, {}))
  expect(effectsOf(rows)).toEqual(['movement', 'event', 'timer'].map((kind, id) => ({ kind, id })))
  expect(effectsOf([change('movements', 1, undefined)])).toEqual([])
})

test('an entry counts what it asked of the storage, and a write without rows has no effects', () => {
  const { work } = newJournal()
  const { recording, entry } = work()
  recording.hasRead(3, 1)
  const rowChanges = [change('movements', 1, {})]
  recording.hasWritten({ reads: 2, writes: 4, retries: 5, rowChanges } as never)
  expect(entry.storage).toEqual({ transactions: 2, reads: 5, writes: 4, retries: 6 })
  recording.hasWritten({ reads: 1, writes: 0, retries: 0, rowChanges: [change('events', 2, {})] } as never)
  expect(entry.caused).toEqual([{ kind: 'movement', id: 1 }])
  recording.noteFault('fault_1')
  recording.noteFault('fault_2')
  expect(entry.fault).toBe('fault_2')
})

test('work that failed shows why, and nothing of what it wrote', () => {
  const written = { reads: 1, writes: 1, retries: 0, rowChanges: [change('movements', 1, {})] } as never
  const ended = (outcome: object) => {
    const { recording, entry } = newJournal().work()
    recording.end(outcome)
    expect(entry.ms).toBeGreaterThanOrEqual(0)
    expect(entry.ms).toBeLessThan(60_000)
    return [entry.code, entry.response.body, entry.caused.length, entry.storage.writes]
  }
  expect(ended({ written })).toEqual([undefined, null, 1, 1])
  expect(ended({})).toEqual([undefined, null, 0, 0])
  expect(ended({ written, failure: new Error('refused') })).toEqual(['failed', 'refused', 0, 0])
  expect(ended({ failure: null })).toEqual(['failed', 'null', 0, 0])
})

test('the fault of a charge is also that of the request that waits for it', async () => {
  const { begin, work } = newJournal()
  const { recording, incoming, entry } = begin({})
  const charge = (id: number, fault?: string) => {
    const delivery = work({ origin: 'delivery', id })
    if (fault !== undefined) delivery.recording.noteFault(fault)
    return delivery.recording.charged(Promise.resolve('charged'))
  }
  for (const id of [1, 2, 3, 4]) (recording as unknown as EntryRecording).cause({ kind: 'card', id })
  expect(await charge(1)).toBe('charged')
  expect(entry.fault).toBeUndefined()
  await charge(2, 'fault_1')
  await charge(3, 'fault_2')
  await charge(9, 'fault_3')
  expect(entry.fault).toBe('fault_1')
  const late = begin({})
  ;(late.recording as unknown as EntryRecording).cause({ kind: 'card', id: 4 })
  late.recording.end(late.incoming, answer())
  await charge(4, 'fault_4')
  expect(late.entry.fault).toBeUndefined()
  recording.end(incoming, answer())
})

const ports = () => {
  const called: string[] = []
  const port = (name: string) => async () => void called.push(name)
  const cards = { testMethods: ['x'], save: port('save'), charge: port('charge'), refund: port('refund') }
  const service = {
    storage: {},
    mailer: { send: port('mail') },
    push: { send: port('push') },
    cards,
    upstream: { fetch: port('fetch') },
  }
  return { called, service: service as unknown as ServiceContext }
}

async function callAll({ mailer, push, cards, upstream }: ServiceContext) {
  await mailer.send({} as never)
  await push.send({} as never)
  await cards?.save({ id: 'card_1' } as never)
  await cards?.charge({} as never)
  await cards?.refund({} as never)
  await upstream.fetch({ method: 'GET', shownUrl: 'https://a.example.test/' } as never)
}

test.each([true, false])(
  'work calls every port, and tells of each but the saving of cards, if it is asked to: %s',
  async (isTold) => {
    const { called, service } = ports()
    let told = 0
    const { recording, entry } = newJournal().work(isTold ? { onPort: () => told++ } : {})
    const own = recording.over(service)
    await callAll(own)
    expect(called).toEqual(['mail', 'push', 'save', 'charge', 'refund', 'fetch'])
    expect(told).toBe(isTold ? 5 : 0)
    expect(own.cards?.testMethods).toEqual(['x'])
    expect(entry.caused).toEqual([
      { kind: 'card', id: 'card_1' },
      { kind: 'upstream', id: 'GET https://a.example.test/' },
    ])
    expect(recording.over({ ...service, cards: undefined }).cards).toBeUndefined()
  },
)

test('the index of causes keeps the newest, and of one thing the last', () => {
  const causes = new CauseIndex(2)
  for (const [thing, id] of [
    ['a', '1'],
    ['b', '2'],
    ['b', '3'],
    ['c', '4'],
  ] as const)
    causes.note(thing, id)
  expect(['a', 'b', 'c'].map(causes.of)).toEqual([undefined, '3', '4'])
})

test('an entry is as large as its texts', () => {
  const { recording, entry, incoming } = newJournal().begin({ path: '/a' })
  recording.takeBody('12345')
  recording.end(incoming, answer({ headers: { b: 'c' }, body: '1234', facts: { d: 1 } }))
  const characters = '/a'.length + 5 + 2 + 4 + '{"d":1}'.length + 'GET'.length
  expect([entry.bytes, entry.measure()]).toEqual([600 + 2 * characters, 600 + 2 * characters])
  expect(entry.path).toBe('/a')
  Object.assign(entry, { principal: '12', client_address: '345', code: '6789', caused_by: 'abcde' })
  expect(entry.measure()).toBe(600 + 2 * (characters + 2 + 3 + 4 + 5))
  entry.cause({ kind: 'event', id: 1 })
  expect(entry.measure()).toBe(600 + 2 * (characters + 14) + 32)
})
