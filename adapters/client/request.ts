import type { ClientOperation } from '../../src/composition/client-operation.js'
import type { CallOptions, Grade } from './interface.js'
import { Refusal } from './refusal.js'

/** The arguments of a call. */
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
  { base, evidence, takesKeys }: { base: string; evidence: Grade; takesKeys: boolean },
): Prepared {
  const { fields, options } = sent
  if (typeof fields === 'object') refuseWeakFields(endpoint, fields, evidence)
  const key = keyOf(endpoint, options, { evidence, takesKeys })
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
    code: 'evidence_refused',
    status: 501,
    operation: id,
    docs: undefined,
    headers: new Headers(),
    fields: {},
  })

const order = ['documented', 'observed', 'named', 'designed'] as const satisfies readonly Grade[]

export const isGrade = (grade: unknown): grade is Grade => (order as readonly unknown[]).includes(grade)

export const isWeaker = (grade: Grade, least: Grade): boolean => order.indexOf(grade) > order.indexOf(least)

/** An operation under one version. */
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
