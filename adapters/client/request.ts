import type { ClientOperation } from '../../src/composition/client-operation.js'
import type { CallOptions, Grade } from './interface.js'
import { Refusal } from './refusal.js'

export interface Sent {
  /** The values of the path parameters, in their order. */
  readonly parameters: readonly unknown[]
  readonly fields: Readonly<Record<string, unknown>> | string | undefined
  readonly options: CallOptions
}

/** A request without its credentials. All attempts of a call send the same. */
export interface Prepared {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly key: string | undefined
}

/** Writes a call as a request. Throws a `Refusal` for what the evidence grade of the client does not allow. */
export function prepare(
  endpoint: Endpoint,
  sent: Sent,
  { base, ...strictness }: { base: string; evidence: Grade; takesKeys: boolean },
): Prepared {
  const { fields, options } = sent
  if (typeof fields === 'object') refuseWeakFields(endpoint, fields, strictness.evidence)
  const key = keyOf(endpoint, options, strictness)
  const body = bodyOf(endpoint, fields)
  const headers = {
    accept: endpoint.accept ?? (endpoint.raw ? 'application/json, text/event-stream' : 'application/json'),
    ...(body !== undefined && { 'content-type': endpoint.takes === 'text' ? 'text/csv' : 'application/json' }),
    ...(key !== undefined && { 'idempotency-key': key }),
  }
  return { url: base + pathOf(endpoint, sent), headers, body, key }
}

function pathOf({ path, takes }: Endpoint, { parameters, fields }: Sent): string {
  const values = parameters.values()
  const filled = path.replace(/:\w+/g, () => encodeURIComponent(String(values.next().value)))
  if (takes !== 'query' || typeof fields !== 'object') return filled
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return given.length === 0
    ? filled
    : `${filled}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

function bodyOf({ takes }: Endpoint, fields: Sent['fields']): string | undefined {
  if (takes === 'text') return String(fields)
  return takes === 'body' ? JSON.stringify(fields ?? {}) : undefined
}

function keyOf(
  endpoint: Endpoint,
  { idempotencyKey }: CallOptions,
  { evidence, takesKeys }: { evidence: Grade; takesKeys: boolean },
): string | undefined {
  // Our own design, which strict modes refuse.
  const isAllowed = !isWeaker('designed', evidence)
  if (idempotencyKey !== undefined && !endpoint.idempotent)
    throw new TypeError(`${endpoint.id} accepts no idempotencyKey.`)
  if (idempotencyKey !== undefined && !isAllowed)
    throw tooWeak(endpoint, 'The option "idempotencyKey" is designed', evidence)
  return idempotencyKey ?? (endpoint.idempotent && isAllowed && takesKeys ? randomKey() : undefined)
}

/** `crypto.randomUUID` is absent on pages without https. */
const randomKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

function refuseWeakFields(endpoint: Endpoint, fields: object, evidence: Grade): void {
  for (const [name, value] of Object.entries(fields)) {
    const grade = endpoint.graded?.[name]
    if (value !== undefined && grade && isWeaker(grade, evidence))
      throw tooWeak(endpoint, `The field "${name}" is ${grade}`, evidence)
  }
}

const tooWeak = ({ id }: Endpoint, what: string, evidence: Grade): Refusal =>
  new Refusal({
    message: `${what}, and the evidence of this client is ${evidence}. Nothing was sent.`,
    ...{ code: 'evidence_refused', status: 501, operation: id, docs: undefined, headers: new Headers(), fields: {} },
  })

const order = ['documented', 'observed', 'named', 'designed'] as const satisfies readonly Grade[]
export const isGrade = (grade: unknown): grade is Grade => (order as readonly unknown[]).includes(grade)
export const isWeaker = (grade: Grade, least: Grade): boolean => order.indexOf(grade) > order.indexOf(least)

export interface Endpoint extends Omit<ClientOperation, 'method'> {
  readonly method: string
  readonly grade: Grade
}

/** An operation under each of its versions. The id and the path have the version. */
export function endpointsOf(operation: ClientOperation): Endpoint[] {
  const { id, path, method = 'GET', versions = ['v4'], evidence = 'designed' } = operation
  return (versions.length > 0 ? versions : [undefined]).map((version, at) => ({
    ...operation,
    method,
    id: at === 0 ? id : `${id}_${version}`,
    path: version ? `/${version}${path}` : path,
    grade: typeof evidence === 'string' ? evidence : (evidence[version ?? ''] ?? 'designed'),
  }))
}

/** The `fetch` of the platform, of a service in process, of MSW or of a worker. */
export type Fetch = (input: string, init: RequestInit) => Promise<Response>

/** A service in process, as `createService` returns it. */
export interface InProcess {
  readonly baseUrl: string
  fetch(input: string, init?: RequestInit): Promise<Response>
}

export interface Target {
  /** Without a slash at its end. */
  readonly base: string
  readonly fetch: Fetch
  /** Perhaps nothing listens at `base`. */
  readonly isInProcess?: boolean
}

/** Reads what a user calls the target. Throws a TypeError that says what is wrong. */
export function targetOf(target: InProcess | string | URL, fetchOption: Fetch | undefined): Target {
  if (typeof target === 'string' || target instanceof URL)
    // Looked up at each call, because tests replace the global function.
    return { base: addressOf(target), fetch: fetchOption ?? ((input, init) => fetch(input, init)) }
  const { baseUrl } = (target ?? {}) as Partial<InProcess> // JavaScript may pass anything.
  if (typeof baseUrl !== 'string' || typeof target.fetch !== 'function')
    throw new TypeError(
      "client needs a service or its URL: client(createService({ sandbox: true })), or client('http://127.0.0.1:4242'). If it is a promise, await it.",
    )
  return {
    isInProcess: true,
    base: addressOf(baseUrl),
    fetch: fetchOption ?? ((input, init) => target.fetch(input, init)),
  }
}

function addressOf(url: string | URL): string {
  const page = typeof location === 'undefined' ? undefined : location.href
  const parsed = parsedUrl(url, page)
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw new TypeError(`The URL of a service begins with http:// or https://, unlike "${url}".`)
  return parsed.origin + parsed.pathname.replace(/\/+$/, '')
}

function parsedUrl(url: string | URL, page: string | undefined): URL | undefined {
  try {
    return new URL(url, page)
  } catch {
    return undefined
  }
}

/** Throws a TypeError if an answer redirects, with the address: only the service itself may get the credentials of a call. */
export function refuseRedirect(
  url: string,
  { type, status, headers }: Pick<Response, 'type' | 'status' | 'headers'>,
): void {
  const leads = type === 'opaqueredirect' || (status >= 300 && status < 400 && headers.has('location'))
  if (!leads) return
  // Browsers do not show where it leads.
  const location = headers.get('location')
  const to = location === null ? 'another address' : new URL(location, url).href
  throw new TypeError(
    `${url} redirects to ${to}. No redirect is followed, because it would get your credentials. Use that address if you trust it.`,
  )
}
