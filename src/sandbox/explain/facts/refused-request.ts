import { HIDDEN_KEY } from '../../../base/text/redacted.js'
import type { FixedOptions, ServiceContext } from '../../../http/context.js'
import type { Reader } from '../../../storage/storage.js'
import type { SandboxParts } from '../../onion/context.js'
import type { Entry } from '../../onion/entry.js'
import type { ExampleCall, Fix } from './explanation.js'

/** What an explanation needs to know of the service. */
export type ExplainedService = Pick<ServiceContext, 'baseUrl' | 'limits' | 'cards' | 'sandbox'> &
  Pick<FixedOptions, 'evidence' | 'accountCreation'>

/** An operation as the route table describes it. */
export type Operation = Awaited<ReturnType<SandboxParts['loadRoutes']>>[number]

/** Where an entry of the journal and the state of its moment are read from. */
export interface Sources {
  /** `tokenDigest`: the digest of the token in its path. `delegate`: what the journal hides. `facts`: what was thrown. */
  readonly entry: Entry & {
    readonly tokenDigest?: string
    readonly delegate?: string | undefined
    readonly facts?: Fields
  }
  /** The state as it was when the request was answered. */
  readonly tx: Reader
  readonly service: ExplainedService
  readonly operations: readonly Operation[]
  /** An earlier entry of the journal that fits, the newest first. */
  findEarlier(fits: (entry: Entry) => boolean): Promise<Entry | undefined>
}

/** A request of the journal, taken apart. */
export class RefusedRequest {
  readonly entry: Sources['entry']
  readonly tx: Reader
  readonly service: ExplainedService
  readonly operations: readonly Operation[]
  readonly findEarlier: Sources['findEarlier']
  /** When the request was made, in Unix milliseconds. */
  readonly at: number
  /** The operation. Undefined for an unknown path. */
  readonly operation: Operation | undefined
  /** The values of the path's parameters. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** The fields of the body. Empty if it has none, or if the journal has cut it. */
  readonly body: Fields
  /** Whether the body is fields, and not another text or a part of one. */
  readonly hasFields: boolean
  /** What the refusal says beside its sentence, and what decided where it was thrown. */
  readonly facts: Fields

  constructor({ entry, tx, service, operations, findEarlier }: Sources) {
    this.entry = entry
    this.tx = tx
    this.service = service
    this.operations = operations
    this.findEarlier = findEarlier
    this.at = Date.parse(entry.at)
    this.operation = operations.find(({ id }) => id === entry.operation_id)
    const url = new URL(entry.path, 'http://service.invalid')
    this.params = this.operation ? paramsOf(this.operation, url.pathname) : {}
    this.query = Object.fromEntries(url.searchParams)
    const body = fieldsOf(entry.request.body, entry.request.headers['content-type'])
    this.body = body ?? {}
    this.hasFields = body !== undefined
    this.facts = { ...fieldsBesideSentence(entry), ...entry.facts }
  }

  /** A field of the request, by its name: of the body, then the query, then the path. */
  sent(name: string): unknown {
    return this.body[name] ?? this.query[name] ?? this.params[name]
  }

  /** A text of the request that the journal shows. */
  sentText(name: string): string | undefined {
    const value = this.sent(name)
    return typeof value === 'string' && value !== REDACTED ? value : undefined
  }

  /** A number of the request, also one that was sent as digits. */
  sentNumber(name: string): number | undefined {
    const value = this.sent(name)
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    return typeof number === 'number' && Number.isFinite(number) ? number : undefined
  }

  /** The hash of the delegate of the request. No explanation shows it. */
  sentDelegate(): string | undefined {
    return this.entry.delegate ?? this.sentText('persona_delegate')
  }

  /** A fact of the refusal that is a text. */
  textFact(name: string): string | undefined {
    const fact = this.facts[name]
    return typeof fact === 'string' ? fact : undefined
  }

  numberFact(name: string): number | undefined {
    const fact = this.facts[name]
    return typeof fact === 'number' ? fact : undefined
  }

  /** How many seconds to wait before a retry. `usual`: if the answer does not say. */
  waitOf(usual: number): number {
    return Number(this.entry.response.headers['retry-after'] ?? usual)
  }

  /** How the caller is named in the ledger: `user:2` for that user's session too. Null for agents, pages and guests. */
  callerOwner(): `account:${number}` | `user:${number}` | null {
    const { principal } = this.entry
    return principal !== null && /^(account|user):\d+$/.test(principal) ? (principal as `user:${number}`) : null
  }

  /** The number of a principal of this kind, such as the connection of an agent. */
  callerId(kind: string): number | undefined {
    const [named, id] = this.entry.principal?.split(':') ?? []
    return named === kind && id !== undefined && /^\d+$/.test(id) ? Number(id) : undefined
  }

  /** The scheme of the Authorization header. */
  schemeOf(): string | null {
    return /^(\S+) /.exec(this.entry.request.headers.authorization ?? '')?.[1] ?? null
  }

  /** The header with a device's token, for requests that had it. The developer fills it in. */
  deviceToken(): Readonly<Record<string, string>> {
    return 'x-device-token' in this.entry.request.headers ? { 'x-device-token': REDACTED } : {}
  }

  /** The request again, with other fields. A field that is undefined is left out. */
  again({ body, query, as, headers, ...rest }: Partial<Again> = {}): ExampleCall {
    const { request, principal, path, method } = this.entry
    const fields = Object.fromEntries(
      Object.entries({ ...this.#meantFields(), ...body }).filter(([, each]) => each !== undefined),
    )
    const isText = !this.hasFields && request.body !== null
    // The journal keeps JSON and forms.
    const type = this.operation?.text && request.body === null ? request.headers['content-type'] : undefined
    const caller = as ?? principal ?? undefined
    const key = request.headers['idempotency-key']
    const kept = {
      ...(key !== undefined && { 'idempotency-key': key.startsWith(HIDDEN_KEY) ? REDACTED : key }),
      ...this.deviceToken(),
      ...(type !== undefined && { 'content-type': type }),
      ...headers,
    }
    return {
      method,
      path: withQuery(rest.path ?? path, query),
      ...(caller !== undefined && { as: caller }),
      ...(Object.keys(kept).length > 0 && { headers: kept }),
      ...((this.hasFields || Object.keys(fields).length > 0) && { body: fields }),
      ...(isText && !body && { body: request.body }),
      ...(type !== undefined && { body: REDACTED }),
      ...rest.whole,
    }
  }

  /** The fields of the body. Some programs, such as `curl -d`, send JSON as a form with one field, whose name is all of it. */
  #meantFields(): Fields {
    const { body } = this.entry.request
    const meant = body === null ? undefined : parsedJson(body)
    return isFields(meant) ? meant : this.body
  }

  /** A fix that replaces the refused request: the same request with other fields. */
  corrected(change: Partial<Again>): Fix {
    return { operation_id: this.entry.operation_id ?? '', example: this.again(change), next: null }
  }

  /** A fix after which the request succeeds. `next`: the request, if it changes. */
  first(operation_id: string, example: ExampleCall, next: ExampleCall = this.again()): Fix {
    return { operation_id, example, next }
  }

  /** A fix of two calls, after which the request succeeds. */
  firstBoth(
    operation_id: string,
    [example, between]: readonly [ExampleCall, ExampleCall],
    next: ExampleCall = this.again(),
  ): Fix {
    return { operation_id, example, between, next }
  }

  /** Advances the clock until the request succeeds. */
  later(seconds: number): Fix {
    return this.first('updateClock', advanced(seconds))
  }

  /** Reads the events of the caller, which show what happened. */
  thenListEvents(next: ExampleCall | null): Fix {
    const as = this.entry.principal
    const example = { method: 'GET', path: '/v4/events', ...(as !== null && { as }) }
    return { operation_id: 'listEvents', example, next }
  }
}

export type Fields = Readonly<Record<string, unknown>>

/** What the journal shows in place of a secret. */
export const REDACTED = '[redacted]'

/** The pattern of an operation's paths, with a group for each parameter. */
const patternOf = ({ path, versions }: Pick<Operation, 'path' | 'versions'>): RegExp => {
  const pattern = path.replace(/\./g, '\\.').replace(/:(\w+)/g, '(?<$1>[^/]+)')
  return new RegExp(`^${versions ? `/(?:${versions.join('|')})` : ''}${pattern}/*$`)
}

/** Whether a path is one of the operation's. */
export const isPathOf = (operation: Operation, path: string): boolean => patternOf(operation).test(path)

function paramsOf(operation: Operation, path: string): Record<string, string> {
  const groups = patternOf(operation).exec(path)?.groups ?? {}
  return Object.fromEntries(Object.entries(groups).map(([name, part]) => [name, decoded(part)]))
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function fieldsOf(body: string | null, type: string | undefined): Fields | undefined {
  if (body === null) return undefined
  if (type?.startsWith('application/x-www-form-urlencoded')) return Object.fromEntries(new URLSearchParams(body))
  const value = parsedJson(body)
  return isFields(value) ? value : undefined
}

/** The sentence of a refusal. */
export function refusalText({ response }: Entry): string {
  const { error, error_description = error } = fieldsOf(response.body, 'application/json') ?? {}
  return typeof error_description === 'string' ? error_description : ''
}

/** The fields of a refusal. Its sentence is for people, and nothing reads it. */
function fieldsBesideSentence({ response }: Entry): Fields {
  const { error, error_description, error_uri, message, status, code, docs, ...fields } =
    fieldsOf(response.body, 'application/json') ?? {}
  return fields
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface Again {
  readonly path: string
  readonly query: Readonly<Record<string, string | undefined>>
  /** Fields of the body that change. */
  readonly body: Fields
  readonly as: string
  readonly headers: Readonly<Record<string, string>>
  /** Parts of the example to replace as they are. */
  readonly whole: Partial<ExampleCall>
}

function withQuery(path: string, query: Again['query'] | undefined): string {
  if (!query) return path
  const url = new URL(path, 'http://service.invalid')
  for (const [name, value] of Object.entries(query))
    if (value === undefined) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  // A place to fill in stays readable.
  return url.pathname + url.search.replace(/%7B([\w-]+)%7D/g, '{$1}')
}

/** Advances the clock. */
export const advanced = (seconds: number): ExampleCall => ({
  method: 'POST',
  path: '/_sandbox/clock',
  body: { advance: `${Math.ceil(seconds)}s` },
})
