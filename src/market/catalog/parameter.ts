import { type Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { mapInOrder } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

export type ParameterKind = 'header' | 'query' | 'url'

/** A value that farthing adds when it calls an item's endpoint. Micro Payment Service Interface, section 2. */
export interface DispatchParameterRow {
  readonly id: number
  readonly item_id: number
  readonly kind: ParameterKind
  readonly name: string
  readonly sensitive: boolean
  readonly value_sealed: string
  readonly updated_at: number
}

export const dispatchParameters = collection<DispatchParameterRow>()(
  'dispatch_parameters',
  { byItem: { fields: ['item_id'] } },
  {
    growth: { by: 'an account, by replaceDispatchParameters', most: 32, per: 'item', beyond: 'field_invalid' },
    retention: { until: 'the owner of the item replaces it' },
    refs: { item_id: 'catalog_items' },
    secrets: ['value_sealed'],
  },
)

export interface ParameterInput {
  /** The id of an existing parameter. Default: a new one. */
  readonly id?: number | null | undefined
  readonly kind: ParameterKind
  readonly name: string
  /** Default: unchanged, or false for a new parameter. */
  readonly sensitive?: boolean | undefined
  /** Default or null: unchanged. */
  readonly value?: string | null | undefined
}

type Encryption = Pick<ServiceContext, 'keys'>
const MAX_PARAMETERS = 32
const MAX_VALUE_BYTES = 8192

export const parametersOf = (tx: Reader, itemId: number): Promise<DispatchParameterRow[]> =>
  tx.find(dispatchParameters, { index: 'byItem', prefix: [itemId], limit: MAX_PARAMETERS })

export async function showParameter(row: DispatchParameterRow, { keys }: Encryption) {
  const { id, kind, name, sensitive } = row
  const value = await keys.open(row.value_sealed, encryptionContext(id))
  return {
    id,
    kind,
    name,
    sensitive,
    value: sensitive ? null : (value ?? null),
    value_set: value !== undefined,
    updated_at: new Date(row.updated_at).toISOString(),
  }
}

export const listDispatchParameters = async (tx: Reader, itemId: number, encryption: Encryption) =>
  mapInOrder(await parametersOf(tx, itemId), (row) => showParameter(row, encryption))

const encryptionContext = (id: number): string => `dispatch_parameters:${id}:value`

export async function replaceDispatchParameters(
  tx: Writer,
  { itemId, inputs, at }: { itemId: number; inputs: readonly ParameterInput[]; at: number },
  encryption: Encryption,
): Promise<void> {
  if (inputs.length > MAX_PARAMETERS) throw invalidParameter(null, `must have at most ${MAX_PARAMETERS} entries`)
  const known = new Map((await parametersOf(tx, itemId)).map((row) => [row.id, row]))
  checkDistinct(inputs)
  for (const [n, input] of inputs.entries()) {
    const { id } = input
    const was = typeof id === 'number' ? known.get(id) : undefined
    if (typeof id === 'number' && !was) throw invalidParameter(`${n}.id`, 'is not the id of a parameter of this item')
    tx.put(dispatchParameters, await changedParameter(tx, { itemId, input, was, n, at }, encryption))
    if (was) known.delete(was.id)
  }
  for (const id of known.keys()) tx.remove(dispatchParameters, id)
}

const invalidParameter = (field: string | null, what: string): Problem =>
  fieldRefused(field === null ? 'parameters' : `parameters.${field}`, what)

function checkDistinct(inputs: readonly ParameterInput[]): void {
  const seen = new Set<string | number>()
  for (const [n, { id, kind, name }] of inputs.entries()) {
    // HTTP header names ignore case.
    const key = `${kind}:${kind === 'header' ? name.toLowerCase() : name}`
    if (seen.has(key)) throw invalidParameter(`${n}.name`, 'occurs twice')
    if (typeof id === 'number' && seen.has(id)) throw invalidParameter(`${n}.id`, 'occurs twice')
    seen.add(key)
    if (typeof id === 'number') seen.add(id)
  }
}

interface Change {
  readonly itemId: number
  readonly input: ParameterInput
  readonly was: DispatchParameterRow | undefined
  readonly n: number
  readonly at: number
}

async function changedParameter(tx: Writer, { itemId, input, was, n, at }: Change, { keys }: Encryption) {
  const { kind, name } = input
  const sensitive = input.sensitive ?? was?.sensitive ?? false
  const given = input.value ?? undefined
  if (given === undefined && !was) throw invalidParameter(`${n}.value`, 'is missing: a new parameter needs a value')
  if (given === undefined && was?.sensitive && !sensitive)
    throw invalidParameter(`${n}.value`, 'is missing: send the value again to make the parameter visible')
  if (kind === 'header' && isReserved(name))
    throw invalidParameter(`${n}.name`, 'is a header that farthing does not let you set')
  const kept = was && (await keys.open(was.value_sealed, encryptionContext(was.id)))
  // The kind may have changed, so a stored value must be checked again.
  const value = given ?? kept ?? ''
  checkValue(kind, value, n)
  if (was && (given === undefined || given === kept)) {
    const isSame = was.kind === kind && was.name === name && was.sensitive === sensitive
    return isSame ? was : { ...was, kind, name, sensitive, updated_at: at }
  }
  const id = was?.id ?? (await tx.nextId('dispatch_parameters'))
  const value_sealed = await keys.seal(value, encryptionContext(id))
  return { id, item_id: itemId, kind, name, sensitive, value_sealed, updated_at: at }
}

/** Headers that describe how a request is sent, or that `fetch` does not let its caller set. */
const isReserved = (name: string): boolean =>
  /^(accept-charset|accept-encoding|access-control-.*|connection|content-length|content-encoding|cookie2?|date|dnt|expect|host|http2-settings|keep-alive|origin|proxy-.*|referer|sec-.*|set-cookie2?|te|trailer|transfer-encoding|upgrade|via|x-http-method(-override)?|x-method-override)$/i.test(
    name,
  )

function checkValue(kind: ParameterKind, value: string, n: number): void {
  if (new TextEncoder().encode(value).length > MAX_VALUE_BYTES)
    throw invalidParameter(`${n}.value`, `must have at most ${MAX_VALUE_BYTES} bytes`)
  if (kind === 'header' && !/^([\x21-\x7e\x80-\xff]([\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/.test(value))
    throw invalidParameter(
      `${n}.value`,
      'contains a character that is not allowed in a header: remove line breaks, control characters and spaces at either end',
    )
}

export interface ParameterValues {
  readonly headers: ReadonlyMap<string, string>
  readonly query: ReadonlyMap<string, string>
  /** For `{secret.NAME}`. */
  readonly url: ReadonlyMap<string, string>
  /** Sensitive values, except those that are too short to be secrets. */
  readonly sensitive: readonly string[]
}

/** Shorter values occur in ordinary text. */
const MIN_SECRET_LENGTH = 4

export async function decryptParameters(tx: Reader, itemId: number, { keys }: Encryption): Promise<ParameterValues> {
  const opened = { header: new Map<string, string>(), query: new Map<string, string>(), url: new Map<string, string>() }
  const sensitive: string[] = []
  for (const row of await parametersOf(tx, itemId)) {
    const value = await keys.open(row.value_sealed, encryptionContext(row.id))
    if (value === undefined) throw problem('parameter_unreadable')
    opened[row.kind].set(row.name, value)
    if (row.sensitive && value.length >= MIN_SECRET_LENGTH) sensitive.push(value)
  }
  return { headers: opened.header, query: opened.query, url: opened.url, sensitive }
}
