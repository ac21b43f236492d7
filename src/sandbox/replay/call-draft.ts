import { type Problem, problem } from '../../base/problem.js'
import { HIDDEN } from '../../base/text/redacted.js'
import { visibleLine } from '../../base/text/visible.js'
import { IDENTIFYING } from '../journal/marked-names.js'
import type { Entry } from '../onion/entry.js'

/** The request of an entry, with a place for each secret that the journal has taken out. */
export interface CallDraft {
  readonly entry: Entry
  readonly method: string
  readonly path: Template
  /** Without those that identify the caller, and those that only this one request had. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Template | null
  readonly caller: EntryCaller
}

export type Template = readonly (string | Secret)[]

export interface Secret {
  /** `request.body.nonce` */
  readonly field: string
  readonly name: string
  readonly inside: 'json' | 'form'
}

/** Headers of one connection or one request, and those that identify the caller. */
const LEFT_OUT = new Set([
  ...IDENTIFYING,
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'te', 'upgrade', 'expect'],
  ...['accept-encoding', 'user-agent', 'traceparent', 'tracestate', 'x-request-id', 'idempotency-key'],
  ...['via', 'forwarded', 'x-real-ip', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'sec-fetch-site'],
  ...['origin', 'referer'],
])

/** Refusals of what a request came from, which a repetition in this process does not have. */
const OF_ITS_PLACE = /^(sandbox_refused|host_refused|origin_refused|cross_site|page_refused)$/

export function draftOf(entry: Entry): CallDraft {
  const { method, request, origin, status, code } = entry
  if (origin === 'timer' || origin === 'delivery') throw notReplayable('origin', `It is a ${origin}, not a request.`)
  if (status === null) throw notReplayable('status', 'It has no answer yet.')
  if (code !== undefined && OF_ITS_PLACE.test(code))
    throw notReplayable('code', 'It was refused because of where it came from, and a replay comes from here.')
  if (/^(CONNECT|TRACE|TRACK)$/i.test(method)) throw notReplayable('method', `No client of this kind sends ${method}.`)
  const isForm = request.headers['content-type']?.includes('x-www-form-urlencoded') ?? false
  const path = templateOf(entry.path, 'request.path', 'form')
  const body = bodyOf(entry, isForm ? 'form' : 'json')
  return { entry, method, path, headers: keptHeaders(entry), body, caller: callerOf(entry) }
}

function bodyOf({ request, method, operation_id }: Entry, inside: Secret['inside']): Template | null {
  if (request.cut) throw notReplayable('request.body', 'The journal cut it at 16 KiB.')
  if (request.body !== null) {
    if (method === 'GET' || method === 'HEAD')
      throw notReplayable('request.body', `A client of this kind sends no body with ${method}.`)
    // The second stands for bytes that are not UTF-8.
    if (/[\0\uFFFD]/.test(request.body)) throw notReplayable('request.body', 'It is not text.')
    return templateOf(request.body, 'request.body', inside)
  }
  const { 'content-length': length, 'content-type': type } = request.headers
  const hadBody = method !== 'GET' && method !== 'HEAD' && (Number(length ?? 0) > 0 || type?.includes('csv') === true)
  // No operation read it, so the answer would be the same with another.
  if (hadBody && operation_id !== null) throw notReplayable('request.body', 'The journal keeps only JSON and forms.')
  return null
}

/** The header of a fault works only for callers who may use the controls. A replay may, the first caller perhaps not. */
const keptHeaders = ({ request, fault }: Entry): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.headers).filter(
      ([name, value]) =>
        !LEFT_OUT.has(name) && !value.includes(HIDDEN) && (name !== 'x-sandbox-fault' || fault !== undefined),
    ),
  )

/** What comes before a secret in JSON, and in a query or form. */
const BEFORE = { json: /\\?"([^"\\]+)\\?"\s*:\s*\\?"$/, form: /(?:^|[?&;])([^=&;?]+)=$/ }

function templateOf(text: string, place: string, inside: Secret['inside']): Template {
  const [first = '', ...rest] = text.split(HIDDEN)
  const parts: (string | Secret)[] = [first]
  let before = first
  for (const after of rest) {
    const [, name] = BEFORE[inside].exec(before) ?? []
    const isWhole = inside === 'form' || after.startsWith('"')
    const isNamed = name !== undefined && isWhole
    const own = before.endsWith('/interaction/') ? 'interaction' : ''
    parts.push({ field: isNamed ? `${place}.${name}` : place, name: isNamed ? name : own, inside }, after)
    before = after
  }
  return parts
}

export const secretsIn = ({ path, body }: Pick<CallDraft, 'path' | 'body'>): Secret[] =>
  [...path, ...(body ?? [])].filter((part) => typeof part !== 'string')

/** Fills a template. `value` returns the plain text of a secret. */
export const filledTemplate = (template: Template, value: (secret: Secret) => string): string =>
  template.map((part) => (typeof part === 'string' ? part : escaped(value(part), part))).join('')
const escaped = (value: string, { inside }: Secret): string =>
  inside === 'form' ? encodeURIComponent(value) : JSON.stringify(value).slice(1, -1)

/** Who sent the request of an entry, and with what kind of credential. */
export type EntryCaller =
  | { readonly kind: 'none' }
  /** An access token of `account:1`, `user:2` or `agent:3`. */
  | { readonly kind: 'token'; readonly of: 'account' | 'user' | 'agent'; readonly id: number }
  /** A session. Null for guests. */
  | { readonly kind: 'session'; readonly userId: number | null }
  | { readonly kind: 'client'; readonly clientId: string }
  | { readonly kind: 'refresh' }
  /** Credentials that were refused. `scheme` is that of the header `Authorization`. */
  | { readonly kind: 'wrong'; readonly scheme: string; readonly clientId?: string }

/** Finds out who called. The controls of a sandbox know no callers. */
export function callerOf(entry: Entry): EntryCaller {
  const { principal, request, path, status } = entry
  const { authorization, cookie, 'x-session-id': session } = request.headers
  if (path.startsWith('/_sandbox/')) return { kind: 'none' }
  const [kind = '', id = ''] = principal?.split(/:(.*)/) ?? []
  if (authorization !== undefined) {
    const [scheme = ''] = authorization.split(' ')
    const wrong = { kind: 'wrong', scheme } as const
    if (kind === 'client') return entry.code === undefined ? { kind, clientId: id } : { ...wrong, clientId: id }
    if (kind === 'account' || kind === 'user' || kind === 'agent') return { kind: 'token', of: kind, id: Number(id) }
    // It was refused before its credential was read, or for it.
    if ((status ?? 0) >= 400) return wrong
    if (path.includes('/oauth/token')) return { kind: 'refresh' }
    return { kind: 'none' }
  }
  if (session === undefined && cookie === undefined) return { kind: 'none' }
  return { kind: 'session', userId: kind === 'user' ? Number(id) : null }
}

/** What an entry was, for a comment: a visible line. */
export const titleOf = ({ id, method, path, status, principal }: Entry): string =>
  visibleLine(`${id}: ${method} ${path} answered ${status} to ${principal ?? 'nobody'}`)

export const notReplayable = (field: string, why: string): Problem =>
  problem('not_replayable', { detail: `\`${field}\`: ${why}`, fields: { field }, facts: { why } })
