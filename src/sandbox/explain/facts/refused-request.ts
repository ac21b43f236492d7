import { parsedJson, withoutUndefined } from '../../../base/json.js'
import type { ProblemCode } from '../../../base/problem.js'
import { HIDDEN_KEY } from '../../../base/text/redacted.js'
import type { FixedOptions, ServiceContext } from '../../../http/context.js'
import type { Collection, Key, Reader, Row } from '../../../storage/storage.js'
import { isObject } from '../../../storage/unknown.js'
import type { SandboxParts } from '../../onion/context.js'
import type { Entry } from '../../onion/entry.js'
import type { ExampleCall, FactsByName, Finding, Fix } from './explanation.js'

/** What reads the state of the moment, by the codes for which it matters. It changes nothing. */
export type Explainers = Readonly<Partial<Record<ProblemCode, (asked: RefusedRequest) => Finding | Promise<Finding>>>>

/** An operation as the route table describes it. */
export type Operation = Awaited<ReturnType<SandboxParts['loadRoutes']>>[number]

/** An entry of the journal, with what its readers do not see. */
export interface WholeEntry extends Entry {
  /** The digest of the token in its path. */
  readonly tokenDigest?: string
  readonly delegate?: string | undefined
  readonly facts?: FactsByName
}

/** Where an entry of the journal and the state of its moment are read from. */
export interface Sources {
  readonly entry: WholeEntry
  /** The state as it was when the request was answered. */
  readonly tx: Reader
  readonly service: Pick<ServiceContext, 'baseUrl' | 'limits' | 'cards' | 'sandbox'> &
    Pick<FixedOptions, 'evidence' | 'accountCreation' | 'dialects'>
  readonly operations: readonly Operation[]
  /** An earlier entry of the journal that fits, the newest first. */
  findEarlier(fits: (entry: Entry) => boolean): Promise<Entry | undefined>
}

/** A request of the journal, taken apart. */
export class RefusedRequest {
  /** When the request was made, in Unix milliseconds. */
  readonly at: number
  /** The operation. Undefined for an unknown path. */
  readonly operation: Operation | undefined
  readonly params: Texts
  readonly query: Texts
  /** The fields of the body. Undefined if it has none, is another text, or if the journal has cut it. */
  readonly #fields: FactsByName | undefined
  readonly body: FactsByName
  /** What the refusal says beside its sentence, and what decided where it was thrown. */
  readonly facts: FactsByName

  constructor(
    readonly entry: WholeEntry,
    readonly tx: Reader,
    readonly service: Sources['service'],
    readonly operations: readonly Operation[],
    readonly findEarlier: Sources['findEarlier'],
  ) {
    this.at = Date.parse(entry.at)
    this.operation = operations.find(({ id }) => id === entry.operation_id)
    const url = new URL(entry.path, 'http://service.invalid')
    this.params = this.operation ? paramsOf(this.operation, url.pathname) : {}
    this.query = Object.fromEntries(url.searchParams)
    this.#fields = fieldsOf(entry.request.body, entry.request.headers['content-type'])
    this.body = this.#fields ?? {}
    // The sentence of a refusal is for people, and nothing reads it.
    const { error, error_description, error_uri, message, status, code, docs, ...said } = answered(entry)
    this.facts = { ...said, ...entry.facts }
  }

  /** A field of the request, by its name: of the body, then the query, then the path. */
  sent = (name: string): unknown => this.body[name] ?? this.query[name] ?? this.params[name]

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
  sentDelegate = (): string | undefined => this.entry.delegate ?? this.sentText('persona_delegate')

  /** The id in the path of an operation below `/{list}/`. */
  idIn = (list: string): string | undefined =>
    this.operation?.path.includes(`/${list}/:id`) ? this.params.id : undefined

  /** A row. Undefined if there is none, and without an id. */
  get = async <R extends Row>(of: Collection<R>, id: R['id'] | undefined): Promise<R | undefined> =>
    id === undefined ? undefined : this.tx.get(of, id)

  textFact(name: string): string | undefined {
    const fact = this.facts[name]
    return typeof fact === 'string' ? fact : undefined
  }

  numberFact(name: string): number | undefined {
    const fact = this.facts[name]
    return typeof fact === 'number' ? fact : undefined
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

  rows = <R extends Row, I extends string>(of: Collection<R, I>, index: I | 'id', prefix: Key[], limit = 50) =>
    this.tx.find(of, { index, prefix, limit })

  newest = <R extends Row, I extends string>(of: Collection<R, I>, index: I | 'id', prefix: Key[], limit = 50) =>
    this.tx.find(of, { index, prefix, limit, reverse: true })

  /** The header with a device's token, for requests that had it. The developer fills it in. */
  deviceToken = (): Texts => ('x-device-token' in this.entry.request.headers ? { 'x-device-token': REDACTED } : {})

  /** The request again, with other fields. A field that is undefined is left out. */
  again({ body, query, as, headers, path = this.entry.path, whole }: Partial<Again> = {}): ExampleCall {
    const { request, principal, method } = this.entry
    const fields = withoutUndefined({ ...this.#meantFields(), ...body })
    // The journal keeps JSON and forms.
    const type = this.operation?.text && request.body === null ? request.headers['content-type'] : undefined
    const { 'idempotency-key': key } = request.headers
    const sameKey = key?.startsWith(HIDDEN_KEY) ? REDACTED : key
    const kept = {
      ...withoutUndefined({ 'idempotency-key': sameKey, ...this.deviceToken(), 'content-type': type }),
      ...headers,
    }
    return {
      ...exampleCall(`${method} ${withQuery(path, query)}`, { as: as ?? principal }),
      ...(Object.keys(kept).length > 0 && { headers: kept }),
      ...((this.#fields || Object.keys(fields).length > 0) && { body: fields }),
      ...(!this.#fields && request.body !== null && !body && { body: request.body }),
      ...(type !== undefined && { body: REDACTED }),
      ...whole,
    }
  }

  /** The fields of the body. Some programs, such as `curl -d`, send JSON as a form with one field, whose name is all of it. */
  #meantFields(): FactsByName {
    const { body } = this.entry.request
    const meant = body === null ? undefined : parsedJson(body)
    return isObject(meant) ? meant : this.body
  }

  /** A fix that replaces the refused request: the same request with other fields. */
  corrected = (change: Partial<Again> = {}): Fix => ({
    operation_id: this.entry.operation_id ?? '',
    example: this.again(change),
    next: null,
  })

  /** The same request with other fields in its body. One that is undefined is left out. */
  withFields = (body: FactsByName): Fix => this.corrected({ body })

  /** The same request with another parameter, which is in the query or else in the body. */
  withParameter = (name: string, value: string | undefined): Partial<Again> => ({
    [name in this.query ? 'query' : 'body']: { [name]: value },
  })

  /**
   * A call after which the request succeeds, as in `first('POST /v4/carts', { as: 'user:1' })`. `next`: the request, if it
   * changes, or null if the call replaces it. `between`: what comes between the two.
   */
  first(
    line: string,
    { next = this.again(), between, ...parts }: CallParts & Partial<Pick<Fix, 'next' | 'between'>> = {},
  ): Fix {
    return { ...this.called(exampleCall(line, parts)), ...(between && { between }), next }
  }

  /** A call by the caller of the request, which replaces it. */
  instead = (line: string, parts: CallParts = {}): Fix =>
    this.first(line, { as: this.entry.principal, ...parts, next: null })

  /** A call, under the operation that it calls. */
  called(example: ExampleCall): Omit<Fix, 'next'> {
    const [path = ''] = example.path.split('?')
    const operation = this.operations.find((each) => each.method === example.method && isPathOf(each, path))
    return { operation_id: operation?.id ?? '', example }
  }

  /** Advances the clock until the request succeeds. */
  later = (seconds: number): Fix => this.first(...advance(seconds))
}

type Texts = Readonly<Record<string, string>>

interface CallParts {
  readonly as?: string | null | undefined
  readonly headers?: Texts
  readonly body?: unknown
}

/** A call as data: `exampleCall('POST /v4/carts', { body: {} })`. */
export function exampleCall(line: string, { as, ...parts }: CallParts = {}): ExampleCall {
  const [method = '', path = ''] = line.split(' ')
  return { method, path, ...(as != null && { as }), ...parts }
}

/** Advances the clock. */
export const advance = (seconds: number) =>
  ['POST /_sandbox/clock', { body: { advance: `${Math.ceil(seconds)}s` } }] as const

/** The same request with an Idempotency-Key of its own. */
export const withNewKey = ({ entry }: RefusedRequest) => ({ headers: { 'idempotency-key': `key-${entry.id}` } })
export const withWorkingCard = (asked: RefusedRequest): Fix => asked.withFields({ payment_method_id: 'pm_card_visa' })

/** What the journal shows in place of a secret. */
export const REDACTED = '[redacted]'

/** The pattern of an operation's paths, with a group for each parameter. */
const patternOf = ({ path, versions }: Pick<Operation, 'path' | 'versions'>): RegExp => {
  const pattern = path.replace(/\./g, '\\.').replace(/:(\w+)/g, '(?<$1>[^/]+)')
  return new RegExp(`^${versions ? `/(?:${versions.join('|')})` : ''}${pattern}/*$`)
}

/** Whether a path is one of the operation's. */
export const isPathOf = (operation: Operation, path: string): boolean => patternOf(operation).test(path)

function paramsOf(operation: Operation, path: string): Texts {
  const { groups = {} } = patternOf(operation).exec(path) ?? {}
  return Object.fromEntries(Object.entries(groups).map(([name, part]) => [name, decoded(part) ?? part]))
}

/** Undefined if an escape is not valid. */
export function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

function fieldsOf(body: string | null, type: string | undefined): FactsByName | undefined {
  if (body === null) return undefined
  if (type?.startsWith('application/x-www-form-urlencoded')) return Object.fromEntries(new URLSearchParams(body))
  const value = parsedJson(body)
  return isObject(value) ? value : undefined
}

/** The fields of an answer. */
export const answered = ({ response }: Entry): FactsByName => fieldsOf(response.body, 'application/json') ?? {}

interface Again {
  readonly path: string
  readonly query: Readonly<Record<string, string | undefined>>
  readonly body: FactsByName
  readonly as: string | undefined
  readonly headers: Texts
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
