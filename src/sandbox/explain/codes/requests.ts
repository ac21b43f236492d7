import { forwardedHeaders } from '../../../base/forwarded-headers.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { sandboxOf } from '../../onion/context.js'
import type { Entry } from '../../onion/entry.js'
import { describeEffects } from '../facts/effects.js'
import type { Explainers } from '../facts/explainer.js'
import type { Finding, Fix } from '../facts/explanation.js'
import {
  type Fields,
  isFields,
  isPathOf,
  type Operation,
  REDACTED,
  type RefusedRequest,
} from '../facts/refused-request.js'

/** Requests that cannot be read, and a service that cannot answer. */
export const requestExplainers = {
  body_malformed(asked) {
    const { headers, body } = asked.entry.request
    const text = body ?? ''
    const repaired = repair(text)
    return {
      content_type: headers['content-type'],
      ...{ characters: text.length, begins: text.slice(0, 80), is_list: text.trimStart().startsWith('[') },
      slip: repaired ? undefined : slipIn(text),
      fix: repaired && asked.corrected({ whole: { body: repaired } }),
    }
  },

  path_malformed({ entry }) {
    const path = entry.path.replace(/%(?![0-9a-f]{2})/gi, '%25')
    return { path: entry.path, encoded: isDecodable(path) ? path : path.replace(/%(?!25)/g, '%25') }
  },

  header_malformed(asked) {
    const header = asked.textFact('header') ?? 'Host'
    const { host } = new URL(asked.service.baseUrl)
    const isFault = header !== 'Host'
    const fix = asked.corrected(isFault ? {} : { headers: { host } })
    return { header, value: asked.entry.request.headers[header.toLowerCase()], is_fault: isFault, host, fix }
  },

  field_invalid(asked) {
    const field = asked.textFact('field')
    const value = field === undefined ? undefined : valueAt(asked, field)
    const { body, query } = asked.operation ?? {}
    return {
      ...{ field, value, missing: value === undefined },
      fields: Object.keys(body?.shape ?? query?.shape ?? {}),
      fix: field === undefined ? undefined : correctedField(asked, field, value),
    }
  },

  async amount_invalid(asked) {
    const field = AMOUNTS.find((name) => typeof asked.sent(name) === 'number')
    const amount = field === undefined ? undefined : Number(asked.sent(field))
    const decimals = asked.numberFact('decimals') ?? (await decimalsOf(asked))
    const smallest = 10 ** -decimals
    const isRounded = field !== undefined && amount !== undefined && amount > 0
    const body = isRounded && { [field]: Math.max(Number(amount.toFixed(decimals)), smallest) }
    return { field, amount, decimals, smallest, fix: body ? asked.corrected({ body }) : undefined }
  },

  card_data_refused(asked) {
    const fields = Object.keys(asked.body).filter((name) => looksLikeCard(name, asked.body[name]))
    const without = Object.fromEntries(fields.map((name) => [name, undefined]))
    const test_payment_method = 'pm_card_visa'
    const fix = asked.corrected({ body: { ...without, payment_method_id: test_payment_method } })
    return { fields, test_payment_method, fix }
  },

  body_too_large({ operation, service, entry }) {
    const limit = operation?.text?.limit ?? operation?.bodyLimit ?? 'bodyBytes'
    const bytes = Number(entry.request.headers['content-length'] ?? 0) || null
    return { limit: `limits.${limit}`, most_bytes: service.limits[limit], content_length: bytes }
  },

  content_type_refused(asked) {
    const text = asked.operation?.text
    const wanted = text?.type ?? 'application/json'
    return {
      content_type: asked.entry.request.headers['content-type'],
      accepted: text ? [wanted] : [wanted, 'application/x-www-form-urlencoded'],
      fix: asked.corrected({ headers: { 'content-type': wanted } }),
    }
  },

  cursor_invalid: (asked) => ({ after: asked.sent('after'), fix: asked.corrected({ query: { after: undefined } }) }),

  no_such_path(asked) {
    const { entry, service, operations } = asked
    const [path = '/', query] = entry.path.split('?')
    const near = nearPath(path, entry.method, operations)
    return {
      ...{ path, base_url: service.baseUrl, near, sandbox: service.sandbox !== undefined },
      is_control: path.startsWith('/_sandbox/'),
      fix: near === undefined ? undefined : withOperation(asked, query ? `${near}?${query}` : near),
    }
  },

  method_not_allowed(asked) {
    const { method, path, response } = asked.entry
    const allowed = (response.headers.allow ?? '').split(', ').filter((each) => each !== '')
    const usable = allowed.find((each) => each !== 'HEAD' && each !== 'OPTIONS')
    return { method, allowed, fix: usable === undefined ? undefined : withOperation(asked, path, usable) }
  },

  idempotency_key_invalid: (asked) => ({ characters: keyOf(asked)?.length ?? 0, most: 255, fix: withNewKey(asked) }),

  async idempotency_in_progress(asked) {
    const { entry, findEarlier } = asked
    // A request that runs shows no headers yet.
    const running = await findEarlier(
      ({ status, method, path }) => status === null && method === entry.method && path === entry.path,
    )
    const { other } = otherFacts(running ?? (await otherWithKey(asked)))
    return { key: keyOf(asked), other: other && { ...other, status: null, body: null }, fix: asked.corrected({}) }
  },

  async idempotency_mismatch(asked) {
    const other = await otherWithKey(asked)
    const changed = other ? changedFields(asked, other) : []
    return { key: keyOf(asked), ...otherFacts(other), changed, fix: withNewKey(asked) }
  },

  async idempotency_unreadable(asked) {
    const fix = asked.thenListEvents(asked.again({ headers: newKey(asked) }))
    return { key: keyOf(asked), ...otherFacts(await otherWithKey(asked)), fix }
  },

  too_many_hops: (asked) => ({ via: asked.entry.request.headers.via, fix: asked.corrected({}) }),

  cross_site(asked) {
    const { origin } = asked.entry.request.headers
    const fix = asked.corrected({ headers: { 'x-session-id': REDACTED, cookie: '' } })
    return { origin, base_url: asked.service.baseUrl, fix }
  },

  session_conflict: (asked) => ({ fix: asked.corrected({ headers: { cookie: '' } }) }),

  origin_refused(asked) {
    const { origin = 'ORIGIN' } = asked.entry.request.headers
    const fix = asked.corrected({ headers: { origin: new URL(asked.service.baseUrl).origin } })
    return { origin, allowed: accessOf(asked)?.allowOrigins ?? [], flag: `--allow-origin ${origin}`, fix }
  },

  host_refused(asked) {
    const host = asked.entry.request.headers.host ?? asked.textFact('host')
    const fix = asked.corrected({ headers: { host: new URL(asked.service.baseUrl).host } })
    return { host, allowed: accessOf(asked)?.allowHosts ?? [], flag: `--allow-host ${host ?? 'HOST'}`, fix }
  },

  sandbox_refused(asked) {
    const { headers } = asked.entry.request
    return {
      ...{ forwarded: forwardedHeaders(Object.keys(headers)), origin: headers.origin },
      ...{ sent_token: 'x-control-token' in headers, flag: '--control-token' },
      fix: asked.corrected({ headers: { 'x-control-token': REDACTED } }),
    }
  },

  evidence_refused(asked) {
    const refused = asked.textFact('refused')
    const { evidence: mode } = asked.service
    const { headers: _, ...withoutKey } = asked.again()
    const fix = (): Fix | undefined => {
      if (refused === 'Idempotency-Key')
        return { operation_id: asked.entry.operation_id ?? '', example: withoutKey, next: null }
      if (refused === undefined || refused === asked.entry.operation_id) return undefined
      return asked.corrected({ [refused in asked.query ? 'query' : 'body']: { [refused]: undefined } })
    }
    return { mode, option: 'evidence', flag: '--evidence', fix: fix() }
  },

  overloaded(asked) {
    const option = asked.facts.body_bytes === undefined ? 'limits.queue' : 'limits.bodiesBytes'
    return { option, fix: asked.corrected({}) }
  },

  internal_error: undone,
  account_creation_failed: undone,
  provisioning_failed: undone,
  not_loaded: undone,
  storage_unavailable: undone,

  storage_full(asked) {
    const example = { method: 'GET', path: '/_sandbox/snapshot' }
    return { ...undone(asked), fix: { operation_id: 'readSnapshot', example, next: asked.again() } }
  },

  async outcome_unknown(asked) {
    const { caused } = asked.entry
    const { sentences, facts } = await describeEffects(asked.tx, caused)
    // What is no longer there has no more facts than its kind and its id.
    const happened = sentences.filter((_, i) => Object.keys(facts[i] ?? {}).length > 2)
    const key = keyOf(asked)
    return { ...undone(asked), key, happened, ...(key === undefined && { fix: asked.thenListEvents(null) }) }
  },
} satisfies Explainers

/** A failure that changed nothing. What is known is what the entry counted, and the fault that caused it. */
function undone(asked: RefusedRequest): Finding {
  const { storage, caused, fault } = asked.entry
  return { storage, caused, transactions: storage.transactions, fault, fix: asked.corrected({}) }
}

const AMOUNTS = ['amount', 'cost', 'price', 'limit', 'price_per_call']

const keyOf = ({ entry }: RefusedRequest): string | undefined => entry.request.headers['idempotency-key']
const newKey = ({ entry }: RefusedRequest) => ({ 'idempotency-key': `key-${entry.id}` })
const withNewKey = (asked: RefusedRequest): Fix => asked.corrected({ headers: newKey(asked) })

/** Why a text is no JSON. */
function slipIn(text: string): string {
  try {
    JSON.parse(text)
    return 'It is JSON, and no object.'
  } catch (error) {
    return `${error instanceof Error ? error.message : 'It is no JSON'}.`
  }
}

/** The object that a broken JSON text was meant to be, if only a last comma or a list around it is wrong. */
function repair(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/,(\s*[}\]])/g, '$1'))
    const object = Array.isArray(value) && value.length === 1 ? value[0] : value
    return isFields(object) ? object : undefined
  } catch {
    return undefined
  }
}

function valueAt(asked: RefusedRequest, field: string): unknown {
  const [name = '', ...rest] = field.split('.')
  return rest.reduce<unknown>(
    (value, part) => (isFields(value) || Array.isArray(value) ? (value as Record<string, unknown>)[part] : undefined),
    asked.sent(name),
  )
}

/** The request with the one field corrected, if its right name or value is certain. */
function correctedField(asked: RefusedRequest, field: string, value: unknown): Fix | undefined {
  const meant = asked.textFact('meant')
  if (field.includes('.')) return undefined
  const isInQuery = field in asked.query
  if (meant !== undefined && isInQuery)
    return asked.corrected({ query: { [field]: undefined, [meant]: String(value) } })
  if (meant !== undefined) return asked.corrected({ body: { [field]: undefined, [meant]: value } })
  const right = otherType(value, asked.textFact('type'))
  return right === undefined || isInQuery ? undefined : asked.corrected({ body: { [field]: right } })
}

/** The same value as another type. */
function otherType(value: unknown, type: string | undefined): unknown {
  if (typeof value === 'number' && type === 'string') return String(value)
  const isNumber = typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))
  return isNumber && (type === 'number' || type === 'int') ? Number(value) : undefined
}

async function decimalsOf({ tx, ...asked }: RefusedRequest): Promise<number> {
  const dq = asked.body.dq ?? asked.query.dq
  const [oldest] = await tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1 })
  const named = typeof dq === 'string' ? await tx.get(digitalQuantities, dq) : undefined
  return (named ?? oldest)?.decimals ?? 0
}

const looksLikeCard = (name: string, value: unknown): boolean =>
  value === REDACTED || /card|number|cvc|cvv|exp/i.test(name) || /(?:\d[ -]?){13,19}/.test(String(value))

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** The same request at another path or with another method, under the operation that it then calls. */
function withOperation(asked: RefusedRequest, path: string, method = asked.entry.method): Fix {
  const called = asked.operations.find((each) => each.method === method && isPathOf(each, path.split('?')[0] ?? ''))
  return { operation_id: called?.id ?? '', example: asked.again({ path, whole: { method } }), next: null }
}

/** The path of an operation that an unknown path was meant to be: with its version, or without a prefix or a slip. */
function nearPath(path: string, method: string, operations: readonly Operation[]): string | undefined {
  const rest = path.replace(/^\/v\d+(?=\/)/, '')
  const [, below] = /^\/[^/]+(\/(?:v\d|_sandbox)\/.*)$/.exec(path) ?? []
  const isKnown = (each: string) =>
    operations.some((operation) => operation.method === method && isPathOf(operation, each))
  const spelled = operations.flatMap(({ path: known, method: by, versions }) => {
    if (by !== method || known.includes(':') || !isNear(known, rest)) return []
    return [`${versions?.[0] ? `/${versions[0]}` : ''}${known}`]
  })
  return [below, `/v4${rest}`, `/v4${path}`, `/v2${rest}`, ...spelled].find(
    (each) => each !== undefined && isKnown(each),
  )
}

/** Whether one path becomes the other by adding, leaving out or changing one character. */
function isNear(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  let [endA, endB] = [a.length, b.length]
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1]
  return Math.max(endA, endB) - start <= 1
}

/** The first request of this caller with the same key. */
function otherWithKey(asked: RefusedRequest): Promise<Entry | undefined> {
  const { method, path, principal, code } = asked.entry
  return asked.findEarlier(
    (other) =>
      other.request.headers['idempotency-key'] === keyOf(asked) &&
      other.principal === principal &&
      other.method === method &&
      other.path.split('?')[0] === path.split('?')[0] &&
      other.code !== code,
  )
}

const otherFacts = (other: Entry | undefined) => ({
  other: other && { id: other.id, at: other.at, status: other.status, body: other.request.body },
})

function changedFields({ body }: RefusedRequest, { request }: Entry): string[] {
  try {
    const other: Record<string, unknown> = JSON.parse(request.body ?? '{}')
    const names = new Set([...Object.keys(body), ...Object.keys(other)])
    return [...names].filter((name) => JSON.stringify(body[name]) !== JSON.stringify(other[name]))
  } catch {
    return []
  }
}

/** Undefined for a service that is no sandbox. */
const accessOf = ({ service }: RefusedRequest) => (service.sandbox ? sandboxOf(service).access : undefined)
