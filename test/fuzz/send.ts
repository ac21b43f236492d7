import { expect } from 'vitest'
import { isObject } from '../../src/storage/unknown.js'
import type { Answer, CallOptions } from '../support/api.js'
import { type FuzzedRequest, filled, operations } from './requests.js'
import type { World } from './world.js'

/** Far more rows than any call of one caller needs, and far fewer than a service holds. */
const MOST_READ = 3000
const MOST_WRITTEN = 400
/** No answer takes as long, on however busy a machine. */
const HANGS_AFTER_MS = 60_000

/** What a card processor or another service did is no failure of ours. */
const failuresOfOthers = ['upstream_failed', 'processor_failed', 'parameter_unreadable']

/** URLs leave out parts of `.` and `..`. */
const pathPart = (text: string): string => encodeURIComponent(/^\.*$/.test(text) ? '0' : wellFormed(text))
/** Half of a surrogate pair has no UTF-8. */
const wellFormed = (text: string): string => new TextDecoder().decode(new TextEncoder().encode(text))
const textOf = (value: unknown): string => wellFormed(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Sends a request, and checks what must hold for every answer. */
export async function sendAndCheck(request: FuzzedRequest, world: World): Promise<void> {
  const operation = operations.find(({ operationId }) => operationId === request.id)
  if (!operation) throw new Error(`no operation: ${request.id}`)
  const { path, options } = built(request, operation, world)
  const sent = { path, options, isControl: operation.route.scope === 'sandbox' }
  for (let n = 0; n <= Number(request.isTwice && !(options.raw instanceof ReadableStream)); n += 1) {
    world.counted.restart()
    check(request, await withoutHang(world.call(operation.method, path, options), `${request.id} ${path}`), sent, world)
  }
}

interface Sent {
  readonly path: string
  readonly options: CallOptions
  readonly isControl: boolean
}

function check(request: FuzzedRequest, answer: Answer, sent: Sent, world: World): void {
  const what = `${request.id} by ${request.caller}: ${answer.status}`
  expect(world.failures, `${what} is no defect`).toEqual([])
  if (answer.status >= 500 && answer.status !== 501)
    expect(failuresOfOthers, `${what} ${answer.text} is no failure`).toContain(answer.body?.code)
  const { read, written } = world.counted.count
  expect(read, `${what} reads no more than one caller needs`).toBeLessThan(MOST_READ)
  expect(written, `${what} writes no more than one caller needs`).toBeLessThan(MOST_WRITTEN)
  // Whoever controls a sandbox sees everything in it.
  if (sent.isControl) return
  const own = JSON.stringify(sent)
  const shown = answer.text + JSON.stringify([...answer.headers])
  const leaked = world.secrets.filter((secret) => shown.includes(secret) && !own.includes(secret))
  expect(leaked, `${what} shows nothing of someone else`).toEqual([])
}

function built({ values, ...request }: FuzzedRequest, operation: (typeof operations)[number], world: World) {
  const given = filled(values, world.known) as Record<string, unknown> // An object stays one.
  const pairs = operation.parameters
    .filter((one) => one.in === 'query' && given[one.name] !== undefined)
    .map(({ name }) => [name, textOf(given[name])])
  const query = new URLSearchParams(request.isTwice ? [...pairs, ...pairs] : pairs)
  if (request.caller === 'embed') query.set('public_secret', textOf(world.known.get('public_secret')?.[0]))
  const path = request.path.replace(/\{(\w+)\}/g, (_, name: string) => pathPart(textOf(given[name])))
  const caller = world.callers[request.caller]
  const body = filled(request.body, world.known)
  const headers = { ...caller.headers, ...request.headers }
  return {
    path: `${path}${query.size > 0 ? `?${query}` : ''}`,
    options: { ...caller, headers, ...(operation.method !== 'GET' && sentBody(request.sending, body, headers)) },
  }
}

function sentBody(sending: FuzzedRequest['sending'], body: unknown, headers: Record<string, string>): CallOptions {
  if (body === undefined) return {}
  const text = JSON.stringify(body) ?? ''
  const typed = (type: string) => ({ ...headers, 'content-type': type })
  switch (sending) {
    case 'json':
      return { body }
    case 'form':
      return isObject(body)
        ? { form: Object.fromEntries(Object.entries(body).map(([name, part]) => [name, textOf(part)])) }
        : { body }
    case 'type':
      return { raw: text, headers: typed('text/plain; charset=utf-7') }
    case 'bytes':
      return { raw: new Uint8Array([0x7b, 0xff, 0xfe, 0xc3, 0x28, 0x7d]), headers: typed('application/json') }
    case 'chunks':
      return { raw: inChunks(text), headers: typed('application/json') }
    case 'twice':
      return { raw: `${text}${text}`, headers: typed('application/json') }
  }
}

function inChunks(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, at + 7))
      at += 7
    },
  })
}

async function withoutHang<T>(answer: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer came: ${what}`)), HANGS_AFTER_MS)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

/** Checks what must hold for the state that requests left behind. */
export async function checkState({ service, call, failures }: World): Promise<void> {
  expect((await service.sandbox.ledger()).broken, 'the ledger adds up').toBeNull()
  const snapshot = await call('GET', '/_sandbox/snapshot')
  expect(snapshot.status).toBe(200)
  const restored = await call('PUT', '/_sandbox/snapshot', {
    raw: snapshot.text,
    headers: { 'content-type': 'application/json' },
  })
  expect(restored.status, `the snapshot can be restored: ${restored.text}`).toBeLessThan(300)
  expect(failures, 'the work behind requests failed nowhere').toEqual([])
}
