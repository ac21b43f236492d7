import { type Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

export type ParameterKind = 'header' | 'query' | 'url'

/** What is added when an item's endpoint is called (interface.md section 2). */
export interface DispatchParameterRow {
  readonly id: number
  readonly item_id: number
  readonly kind: ParameterKind
  readonly name: string
  readonly sensitive: boolean
  readonly value_sealed: string
  readonly updated_at: number
}

export const dispatchParameters = collection<DispatchParameterRow>()('dispatch_parameters', {
  byItem: { fields: ['item_id'] },
})

/** A parameter as it is to be. */
export interface ParameterOrder {
  /** Keeps the one there is; makes one where absent. */
  readonly id?: number | null | undefined
  readonly kind: ParameterKind
  readonly name: string
  /** Default: as it was, or false. */
  readonly sensitive?: boolean | undefined
  /** Absent or null: as it was. */
  readonly value?: string | null | undefined
}

type Sealing = Pick<ServiceContext, 'keys'>

const MOST = 32
const VALUE_BYTES = 8192

export const parametersOf = (tx: Reader, itemId: number): Promise<DispatchParameterRow[]> =>
  tx.find(dispatchParameters, { index: 'byItem', prefix: [itemId], limit: MOST })

/** Shows a parameter with its seven fields. */
export async function showParameter(row: DispatchParameterRow, { keys }: Sealing) {
  const { id, kind, name, sensitive } = row
  const value = await keys.open(row.value_sealed, sealContext(id))
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

export type ShownParameter = Awaited<ReturnType<typeof showParameter>>

export async function listParameters(tx: Reader, itemId: number, sealing: Sealing): Promise<ShownParameter[]> {
  const shown = []
  for (const row of await parametersOf(tx, itemId)) shown.push(await showParameter(row, sealing))
  return shown
}

const sealContext = (id: number): string => `dispatch_parameters:${id}:value`

/** Makes these the parameters of an item, in place of those it has. Throws `field_invalid`. */
export async function replaceParameters(
  tx: Writer,
  { itemId, orders, at }: { itemId: number; orders: readonly ParameterOrder[]; at: number },
  sealing: Sealing,
): Promise<void> {
  if (orders.length > MOST) throw refused(null, `takes at most ${MOST} of them`)
  const known = new Map((await parametersOf(tx, itemId)).map((row) => [row.id, row]))
  checkDistinct(orders)
  for (const [n, order] of orders.entries()) {
    const { id } = order
    const was = typeof id === 'number' ? known.get(id) : undefined
    if (typeof id === 'number' && !was) throw refused(`${n}.id`, 'is of no parameter of this item')
    tx.put(dispatchParameters, await settled(tx, { itemId, order, was, n, at }, sealing))
    if (was) known.delete(was.id)
  }
  for (const id of known.keys()) tx.remove(dispatchParameters, id)
}

const refused = (field: string | null, what: string): Problem => {
  const path = field === null ? 'parameters' : `parameters.${field}`
  return problem('field_invalid', { detail: `"${path}" ${what}.`, fields: { field: path } })
}

function checkDistinct(orders: readonly ParameterOrder[]): void {
  const seen = new Set<string | number>()
  for (const [n, { id, kind, name }] of orders.entries()) {
    // Those who are called read the names of headers in any case.
    const key = `${kind}:${kind === 'header' ? name.toLowerCase() : name}`
    if (seen.has(key)) throw refused(`${n}.name`, 'is there twice')
    if (typeof id === 'number' && seen.has(id)) throw refused(`${n}.id`, 'is there twice')
    seen.add(key)
    if (typeof id === 'number') seen.add(id)
  }
}

interface Change {
  readonly itemId: number
  readonly order: ParameterOrder
  readonly was: DispatchParameterRow | undefined
  /** Its place in the list. */
  readonly n: number
  readonly at: number
}

async function settled(
  tx: Writer,
  { itemId, order, was, n, at }: Change,
  { keys }: Sealing,
): Promise<DispatchParameterRow> {
  const { kind, name } = order
  const sensitive = order.sensitive ?? was?.sensitive ?? false
  const given = order.value ?? undefined
  if (given === undefined && !was) throw refused(`${n}.value`, 'is missing: a new parameter has one')
  if (given === undefined && was?.sensitive && !sensitive)
    throw refused(`${n}.value`, 'is needed: what was sensitive is not shown')
  if (kind === 'header' && isReserved(name)) throw refused(`${n}.name`, 'is of a header that is not to be set')
  const kept = was && (await keys.open(was.value_sealed, sealContext(was.id)))
  // A kept one goes where its kind says now, so it must be one that can.
  const value = given ?? kept ?? ''
  checkValue(kind, value, n)
  if (was && (given === undefined || given === kept)) {
    const isSame = was.kind === kind && was.name === name && was.sensitive === sensitive
    return isSame ? was : { ...was, kind, name, sensitive, updated_at: at }
  }
  const id = was?.id ?? (await tx.nextId('dispatch_parameters'))
  const value_sealed = await keys.seal(value, sealContext(id))
  return { id, item_id: itemId, kind, name, sensitive, value_sealed, updated_at: at }
}

/** Headers that say how a request is sent, or that no `fetch` lets its caller set. */
const isReserved = (name: string): boolean =>
  /^(accept-charset|accept-encoding|access-control-.*|connection|content-length|content-encoding|cookie2?|date|dnt|expect|host|http2-settings|keep-alive|origin|proxy-.*|referer|sec-.*|set-cookie2?|te|trailer|transfer-encoding|upgrade|via|x-http-method(-override)?|x-method-override)$/i.test(
    name,
  )

function checkValue(kind: ParameterKind, value: string, n: number): void {
  if (new TextEncoder().encode(value).length > VALUE_BYTES)
    throw refused(`${n}.value`, `takes at most ${VALUE_BYTES} bytes`)
  if (kind === 'header' && !/^([\x21-\x7e\x80-\xff]([\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/.test(value))
    throw refused(`${n}.value`, 'holds a line break, blanks around it or another character that no header can hold')
}

/** The values of an item's parameters, opened. */
export interface Dispatch {
  readonly headers: ReadonlyMap<string, string>
  readonly query: ReadonlyMap<string, string>
  /** For `{secret.NAME}`. */
  readonly url: ReadonlyMap<string, string>
  /** Those that nobody may see, but for what is too short to be a secret. */
  readonly sensitive: readonly string[]
}

/** Shorter ones stand in every text. */
const SECRET_LENGTH = 4

/** Throws `parameter_unreadable` for a value that was sealed under another key. */
export async function openParameters(tx: Reader, itemId: number, { keys }: Sealing): Promise<Dispatch> {
  const opened = { header: new Map<string, string>(), query: new Map<string, string>(), url: new Map<string, string>() }
  const sensitive: string[] = []
  for (const row of await parametersOf(tx, itemId)) {
    const value = await keys.open(row.value_sealed, sealContext(row.id))
    if (value === undefined) throw problem('parameter_unreadable')
    opened[row.kind].set(row.name, value)
    if (row.sensitive && value.length >= SECRET_LENGTH) sensitive.push(value)
  }
  return { headers: opened.header, query: opened.query, url: opened.url, sensitive }
}
