import leven from 'leven'
import { forwardedHeaders } from '../../../base/forwarded-headers.js'
import { parsedJson } from '../../../base/json.js'
import { parsedUrl } from '../../../base/text/foreign-url.js'
import { rates } from '../../../jobs/rates/rate.js'
import { webhooks } from '../../../jobs/webhooks/webhook-row.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { reservations } from '../../../money/ledger/movement.js'
import { isObject } from '../../../storage/unknown.js'
import { sandboxOf } from '../../onion/context.js'
import type { Entry } from '../../onion/entry.js'
import { describeEffects } from '../facts/effects.js'
import type { FactsByName, Fix } from '../facts/explanation.js'
import { itemIn } from '../facts/price.js'
import {
  decoded,
  type Explainers,
  isPathOf,
  type Operation,
  REDACTED,
  type RefusedRequest,
  withNewKey,
} from '../facts/refused-request.js'
import { timeText } from '../facts/words.js'

/** Requests that cannot be read, and a service that cannot answer. */
export const requestExplainers = {
  body_malformed(asked) {
    const { headers, body } = asked.entry.request
    const text = body ?? ''
    const repaired = repair(text)
    return {
      ...{ content_type: headers['content-type'], characters: text.length, begins: text.slice(0, 80) },
      ...{ is_list: text.trimStart().startsWith('['), slip: repaired ? undefined : slipIn(text) },
      fix: repaired && asked.corrected({ whole: { body: repaired } }),
    }
  },
  path_malformed({ entry }) {
    const path = entry.path.replace(/%(?![0-9a-f]{2})/gi, '%25')
    return { path: entry.path, encoded: decoded(path) === undefined ? path.replace(/%(?!25)/g, '%25') : path }
  },
  header_malformed(asked) {
    const header = asked.textFact('header') ?? 'Host'
    const { host } = new URL(asked.service.baseUrl)
    const is_fault = header !== 'Host'
    const fix = asked.corrected(is_fault ? {} : { headers: { host } })
    return { header, value: asked.entry.request.headers[header.toLowerCase()], is_fault, host, fix }
  },
  field_invalid(asked) {
    const field = asked.textFact('field')
    const value = field && valueAt(asked, field)
    const { body, query } = asked.operation ?? {}
    const fields = Object.keys(body?.shape ?? query?.shape ?? {})
    return { field, value, missing: value === undefined, fields, fix: field && correctedField(asked, field, value) }
  },
  async amount_invalid(asked) {
    const field = ['amount', 'cost', 'price', 'limit', 'price_per_call'].find(
      (name) => typeof asked.sent(name) === 'number',
    )
    const amount = field === undefined ? undefined : Number(asked.sent(field))
    const decimals = asked.numberFact('decimals') ?? (await decimalsOf(asked))
    const smallest = 10 ** -decimals
    const right = (given: number) => Math.max(Number(given.toFixed(decimals)), smallest)
    const fix = field && amount && amount > 0 && asked.withFields({ [field]: right(amount) })
    return { field, amount, decimals, smallest, fix }
  },
  card_data_refused(asked) {
    const looksLikeCard = ([name, value]: readonly [string, unknown]) =>
      value === REDACTED || /card|number|cvc|cvv|exp/i.test(name) || /(?:\d[ -]?){13,19}/.test(String(value))
    const fields = Object.entries(asked.body).flatMap((each) => (looksLikeCard(each) ? each[0] : []))
    const without = Object.fromEntries(fields.map((name) => [name, undefined]))
    const fix = asked.withFields({ ...without, payment_method_id: 'pm_card_visa' })
    return { fields, test_payment_method: 'pm_card_visa', fix }
  },
  body_too_large({ operation, service, entry }) {
    const limit = operation?.text?.limit ?? operation?.bodyLimit ?? 'bodyBytes'
    const bytes = Number(entry.request.headers['content-length'] ?? 0) || null
    return { limit: `limits.${limit}`, most_bytes: service.limits[limit], content_length: bytes }
  },
  content_type_refused(asked) {
    const text = asked.operation?.text
    const wanted = text?.type ?? 'application/json'
    const accepted = text ? [wanted] : [wanted, 'application/x-www-form-urlencoded']
    const { 'content-type': content_type } = asked.entry.request.headers
    return { content_type, accepted, fix: asked.corrected({ headers: { 'content-type': wanted } }) }
  },
  cursor_invalid: (asked) => ({ after: asked.sent('after'), fix: asked.corrected({ query: { after: undefined } }) }),
  no_such_path(asked) {
    const { entry, service, operations } = asked
    const [path = '/', query] = entry.path.split('?')
    const near = nearPath(path, entry.method, operations)
    return {
      ...{ path, base_url: service.baseUrl, near, sandbox: service.sandbox !== undefined },
      is_control: path.startsWith('/_sandbox/'),
      fix: near && sentAs(asked, entry.method, query ? `${near}?${query}` : near),
    }
  },
  method_not_allowed(asked) {
    const { method, path, response } = asked.entry
    const allowed = (response.headers.allow ?? '').split(', ').filter((each) => each !== '')
    const usable = allowed.find((each) => each !== 'HEAD' && each !== 'OPTIONS')
    return { method, allowed, fix: usable && sentAs(asked, usable, path) }
  },
  idempotency_key_invalid(asked) {
    return { characters: keyOf(asked)?.length ?? 0, most: 255, fix: asked.corrected(withNewKey(asked)) }
  },
  async idempotency_in_progress(asked) {
    const { method, path } = asked.entry
    // A request that runs shows no headers yet.
    const isRunning = (each: Entry) => each.status === null && each.method === method && each.path === path
    const { key, other } = await sameKey(asked, await asked.findEarlier(isRunning))
    return { key, other: other && { ...other, status: null, body: null }, fix: asked.corrected() }
  },
  async idempotency_mismatch(asked) {
    const found = await sameKey(asked)
    const changed = found.other ? changedFields(asked.body, found.other.body) : []
    return { ...found, changed, fix: asked.corrected(withNewKey(asked)) }
  },
  async idempotency_unreadable(asked) {
    const next = asked.again(withNewKey(asked))
    return { ...(await sameKey(asked)), fix: asked.first('GET /v4/events', { as: asked.entry.principal, next }) }
  },
  too_many_hops: (asked) => ({ via: asked.entry.request.headers.via, fix: asked.corrected() }),
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
    const facts = { mode: asked.service.evidence, option: 'evidence', flag: '--evidence' }
    if (refused === undefined || refused === asked.entry.operation_id) return { ...facts, fix: undefined }
    const { headers, ...withoutKey } = asked.again()
    const withoutIt = asked.corrected(asked.withParameter(refused, undefined))
    return { ...facts, fix: refused === 'Idempotency-Key' ? { ...withoutIt, example: withoutKey } : withoutIt }
  },
  overloaded(asked) {
    const option = asked.facts.body_bytes === undefined ? 'limits.queue' : 'limits.bodiesBytes'
    return { option, fix: asked.corrected() }
  },
  internal_error: undone,
  account_creation_failed: undone,
  provisioning_failed: undone,
  not_loaded: undone,
  storage_unavailable: undone,
  storage_full: (asked) => ({ ...undone(asked), fix: asked.first('GET /_sandbox/snapshot') }),
  async outcome_unknown(asked) {
    const { caused } = asked.entry
    const { sentences, facts } = await describeEffects(asked.tx, caused)
    // What is no longer there has no more facts than its kind and its id.
    const happened = sentences.filter((_, i) => Object.keys(facts[i] ?? {}).length > 2)
    const key = keyOf(asked)
    const fix = key === undefined ? asked.instead('GET /v4/events') : asked.corrected()
    return { ...undone(asked), key, happened, fix }
  },
  // The controls of the sandbox, webhooks, streams, and limits.
  async already_exists(asked) {
    const name = asked.sentText('name') ?? asked.sentText('id')
    const { operation_id, request } = asked.entry
    if (operation_id !== 'seedSandbox' && name !== undefined) {
      const what = operation_id === 'saveNamedState' ? 'snapshot' : 'fault'
      return { name, what, fix: asked.first(`DELETE /_sandbox/${what}s/${encodeURIComponent(name)}`) }
    }
    const seed = Object.entries(asked.body).flatMap(([name, list]) =>
      Array.isArray(list) ? `${list.length} ${name}` : [],
    )
    const earlier = await asked.findEarlier(
      (each) => each.operation_id === operation_id && each.status === 201 && each.request.body === request.body,
    )
    return { seed, planted_by: earlier?.id, fix: asked.first('POST /_sandbox/reset') }
  },
  snapshot_invalid(asked) {
    const fields = Object.keys(asked.body)
    const missing = ['counters', 'rows'].filter((name) => !fields.includes(name))
    const { cut = false } = asked.entry.request
    return { fields, missing, said: asked.textFact('detail'), cut, fix: snapshotFirst(asked) }
  },
  snapshot_refused: (asked) => ({ fix: snapshotFirst(asked) }),
  async rewind_refused(asked) {
    const to = asked.sentText('to')
    const found = await asked.findEarlier(({ id }) => id === to)
    const target = found && { operation_id: found.operation_id, at: timeText(Date.parse(found.at)) }
    const fix = asked.facts.shared === true && asked.instead('POST /_sandbox/forks', { as: null })
    return { to, reason: asked.textFact('detail'), target, fix }
  },
  sandbox_full(asked) {
    const { what, oldest } = asked.facts
    const fix = oldest !== undefined && asked.first(`DELETE /_sandbox/${what}/${encodeURIComponent(String(oldest))}`)
    return { operation_id: asked.entry.operation_id, name: asked.sentText('name'), fix }
  },
  async too_many_webhooks(asked) {
    const account = asked.callerId('account')
    const own = await asked.rows(webhooks, 'byAccount', [account ?? 0], 100)
    const fix = own[0] && asked.first(`DELETE /v4/webhooks/${own[0].id}`, { as: `account:${account}` })
    return { account, most: 20, webhooks: own.map(({ id, url, status }) => ({ id, url, status })), fix }
  },
  async webhook_disabled(asked) {
    const id = asked.sentNumber('id') ?? 0
    const { id: webhook, url, disabled_reason } = (await asked.tx.get(webhooks, id)) ?? {}
    const why = disabled_reason === 'owner' ? 'its owner disabled it' : disabled_reason?.replaceAll('_', ' ')
    const fix = asked.first(`PUT /v4/webhooks/${id}`, { as: asked.callerOwner(), body: { status: 'enabled' } })
    return { webhook, url, disabled_reason, why, fix }
  },
  too_many_streams: (asked) => ({ owner: asked.callerOwner(), most: asked.numberFact('limit'), fix: undefined }),
  async upstream_refused(asked) {
    const field = ['external_endpoint', 'serviceUrl', 'service_url'].find((name) => name in asked.body)
    const url = asked.sentText(field ?? '') ?? (await itemIn(asked))?.external_endpoint
    const host = url === undefined ? undefined : parsedUrl(url)?.hostname
    const served = asked.service.sandbox?.isServed ?? false
    const rule = served ? 'public hosts and this machine' : 'every host that this process can reach'
    const fix = field && asked.withFields({ [field]: 'https://api.example.test/' })
    return { url, host, served, flag: host && `--allow-upstream ${host}`, rule, fix }
  },
  too_many_new(asked) {
    const of = (asked.textFact('of') ?? 'things').replaceAll('_', ' ')
    const isBytes = of === 'stored bytes'
    const { newPerDay } = asked.service.limits
    const most = asked.numberFact('limit') ?? newPerDay
    const option = isBytes ? 'limits.storedBytesPerDay' : most === newPerDay ? 'limits.newPerDay' : null
    const owner = asked.callerOwner() ?? 'The address of the caller'
    return { of, what: isBytes ? of : `new ${of}`, most, option, owner, fix: undefined }
  },
  async too_many_declines(asked) {
    const rows = await asked.newest(rates, 'byEnd', [], 100)
    const counts = rows.flatMap(({ id, times }) => (id.startsWith('card_declines:') ? [times.length] : []))
    const payer = asked.entry.principal ?? 'this link'
    return { payer, payment_method_id: asked.sentText('payment_method_id'), declined: Math.max(...counts, 0) }
  },
  async too_many_charges(asked) {
    const open = await asked.rows(reservations, 'id', [], 1000)
    const who = asked.entry.principal
    return { open: open.length, own: open.filter(({ maker }) => maker === who).length, payer: who ?? 'this link' }
  },
} satisfies Explainers

/** A failure that changed nothing. What is known is what the entry counted, and the fault that caused it. */
function undone(asked: RefusedRequest) {
  const { storage, caused, fault } = asked.entry
  return { storage, caused, transactions: storage.transactions, fault, fix: asked.corrected() }
}

const keyOf = ({ entry }: RefusedRequest): string | undefined => entry.request.headers['idempotency-key']

function slipIn(text: string): string {
  try {
    JSON.parse(text)
    return 'It is JSON, and no object.'
  } catch (error) {
    return `${error instanceof Error ? error.message : 'It is no JSON'}.`
  }
}

/** The object that a broken JSON text was meant to be, if only a last comma or a list around it is wrong. */
function repair(text: string): FactsByName | undefined {
  const value = parsedJson(text.replace(/,(\s*[}\]])/g, '$1'))
  const object = Array.isArray(value) && value.length === 1 ? value[0] : value
  return isObject(object) ? object : undefined
}

function valueAt(asked: RefusedRequest, field: string): unknown {
  const [name = '', ...rest] = field.split('.')
  return rest.reduce<unknown>(
    (value, part) => (isObject(value) || Array.isArray(value) ? (value as FactsByName)[part] : undefined),
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
  if (meant !== undefined) return asked.withFields({ [field]: undefined, [meant]: value })
  const right = otherType(value, asked.textFact('type'))
  return right === undefined || isInQuery ? undefined : asked.withFields({ [field]: right })
}

function otherType(value: unknown, type: string | undefined): unknown {
  if (typeof value === 'number' && type === 'string') return String(value)
  const isNumber = typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))
  return isNumber && (type === 'number' || type === 'int') ? Number(value) : undefined
}

async function decimalsOf(asked: RefusedRequest): Promise<number> {
  const dq = asked.body.dq ?? asked.query.dq
  const named = typeof dq === 'string' ? await asked.tx.get(digitalQuantities, dq) : undefined
  return (named ?? (await asked.rows(digitalQuantities, 'byNumber', [], 1))[0])?.decimals ?? 0
}

const sentAs = (asked: RefusedRequest, method: string, path: string): Fix => ({
  ...{ ...asked.called(asked.again({ path, whole: { method } })), next: null },
})

/** The path of an operation that an unknown path was meant to be: with its version, or without a prefix or a slip. */
function nearPath(path: string, method: string, operations: readonly Operation[]): string | undefined {
  const rest = path.replace(/^\/v\d+(?=\/)/, '')
  const [, below] = /^\/[^/]+(\/(?:v\d|_sandbox)\/.*)$/.exec(path) ?? []
  const callable = operations.filter((operation) => operation.method === method)
  const spelled = callable.flatMap(({ path: known, versions }) => {
    if (known.includes(':') || leven(known, rest) > 1) return []
    return [`${versions?.[0] ? `/${versions[0]}` : ''}${known}`]
  })
  return [below, `/v4${rest}`, `/v4${path}`, `/v2${rest}`, ...spelled].find(
    (each) => each !== undefined && callable.some((operation) => isPathOf(operation, each)),
  )
}

async function sameKey(asked: RefusedRequest, running?: Entry) {
  const { method, path, principal, code } = asked.entry
  const key = keyOf(asked)
  const isSame = (other: Entry) =>
    other.request.headers['idempotency-key'] === key &&
    other.principal === principal &&
    other.method === method &&
    other.path.split('?')[0] === path.split('?')[0] &&
    other.code !== code
  const other = running ?? (await asked.findEarlier(isSame))
  return { key, other: other && { id: other.id, at: other.at, status: other.status, body: other.request.body } }
}

function changedFields(body: FactsByName, otherBody: string | null): string[] {
  const other = parsedJson(otherBody ?? '{}')
  if (!isObject(other)) return []
  const names = [...new Set([...Object.keys(body), ...Object.keys(other)])]
  return names.filter((name) => JSON.stringify(body[name]) !== JSON.stringify(other[name]))
}

/** Undefined for a service that is no sandbox. */
const accessOf = ({ service }: RefusedRequest) => (service.sandbox ? sandboxOf(service).access : undefined)

const snapshotFirst = (asked: RefusedRequest): Fix =>
  asked.first('GET /_sandbox/snapshot', {
    next: asked.again({ whole: { body: { schema: '{schema}', counters: '{counters}', rows: '{rows}' } } }),
  })
