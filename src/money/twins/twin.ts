import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { base64url, contentHash, digest, randomHex } from '../../base/secrets.js'
import { isCurrent, seconds } from '../../base/time.js'
import type { FixedOptions, ServiceContext } from '../../http/context.js'
import { recordEvent } from '../../jobs/events/event.js'
import { countedDaily } from '../../storage/growth.js'
import { newestFirst, type PageBounds, ReadOnce } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import {
  allQuantities,
  type DigitalQuantityRow,
  type QuantityDefinition,
  quantitiesOf,
  quantityHash,
  quantityOf,
  recordQuantity,
} from '../digital-quantities/digital-quantity.js'
import { toAmount } from '../ledger/amount.js'
import { type BalanceRow, balanceId, balances, emptyBalance, spendable } from '../ledger/movement.js'

/** A wallet and merchant account in one. */
export interface TwinRow {
  readonly id: number
  /** A content hash of what identifies the twin. Its hostname begins with the first 32 digits. */
  readonly address: string
  readonly hostname: string
  readonly owner: Owner
  /** The digital quantity that it was created for. It may hold others. */
  readonly dq: string
  readonly created_at: number
}

export const twins = collection<TwinRow>()(
  'twins',
  {
    byHostname: { fields: ['hostname'], unique: true },
    byAddress: { fields: ['address'] },
    byOwner: { fields: ['owner'] },
  },
  {
    refs: { dq: 'digital_quantities' },
    growth: countedDaily('an account or user, by createTwin; one with each user and digital quantity that they use'),
    retention: { forever: 'A twin has value and a history.' },
  },
)

export type TwinContext = Pick<ServiceContext, 'random' | 'keys' | 'options'>

/** The unit in which balances are shown. */
export type BalanceUnit = FixedOptions['balances']

/** Creates a twin with a zero balance of its digital quantity. Default of the address: a new one. */
export async function createTwin(
  tx: Writer,
  order: { owner: Owner; dq: string; at: number; hostname?: string | undefined; address?: string },
  { random, options }: TwinContext,
): Promise<TwinRow> {
  const { owner, dq, at, hostname } = order
  const address = order.address ?? contentHash({ owner, dq, salt: randomHex(random, 16) })
  const row: TwinRow = {
    id: await tx.nextId('twins'),
    address,
    hostname: hostname ?? `${address.slice(0, 32)}.${options.twinDomain}`,
    owner,
    dq,
    created_at: at,
  }
  tx.put(twins, row)
  tx.put(balances, emptyBalance(row.id, dq))
  return row
}

/** Creates a twin for its owner, who sees its key. Throws `dq_unknown`. */
export async function createOwnTwin(tx: Writer, order: { owner: Owner; dq: string; at: number }, context: TwinContext) {
  await quantityOf(tx, order.dq)
  const twin = await createTwin(tx, order, context)
  return showTwin(tx, twin, { key: twinKey(twin, context), unit: context.options.balances })
}

export async function twinByHostname(tx: Reader, hostname: string): Promise<TwinRow | undefined> {
  const [twin] = await tx.find(twins, { index: 'byHostname', prefix: [hostname], limit: 1 })
  return twin
}

export async function primaryTwin(tx: Reader, owner: Owner): Promise<TwinRow | undefined> {
  const [twin] = await tx.find(twins, { index: 'byOwner', prefix: [owner], limit: 1 })
  return twin
}

/** The oldest twin of an owner who always has one, such as a user. Throws an Error if there is none. */
export const firstTwinOf = async (tx: Reader, owner: Owner): Promise<TwinRow> =>
  required(await primaryTwin(tx, owner), `the first twin of ${owner}`)

/** The twin that an owner pays from. Default: their oldest. Throws like `ownTwin`, and `insufficient_funds` if there is none. */
export async function payingTwin(tx: Reader, owner: Owner, hostname?: string): Promise<TwinRow> {
  if (hostname !== undefined) return ownTwin(tx, owner, hostname)
  const twin = await primaryTwin(tx, owner)
  if (!twin)
    throw problem('insufficient_funds', { detail: 'You have no twin to pay from. Create one with POST /v4/twin.' })
  return twin
}

/** The owner's twin, by hostname or id. Throws `not_found`, also for another's id, and `not_owner` for another's hostname. */
export async function ownTwin(tx: Reader, owner: Owner, name: string): Promise<TwinRow> {
  const byId = /^\d{1,15}$/.test(name)
  const twin = byId ? await tx.get(twins, Number(name)) : await twinByHostname(tx, name)
  if (!twin || (byId && twin.owner !== owner)) throw problem('not_found')
  if (twin.owner !== owner) throw problem('not_owner')
  return twin
}

/** The key that a twin's owner sees. It is derived, so that it is not stored. */
export const twinKey = ({ address }: TwinRow, { keys }: Pick<TwinContext, 'keys'>): string =>
  keys.deriveUuid('twin key', address)

export type ShownTwin = ReturnType<typeof showHolding>

/** A twin as callers see it, with its own digital quantity first (Micro Payment Service Interface, section 2). `key`: only for its owner. */
export async function showTwin(
  tx: Reader,
  twin: TwinRow,
  { key = null, unit }: { key?: string | null; unit: BalanceUnit },
): Promise<ShownTwin> {
  const held = await tx.find(balances, { index: 'byTwin', prefix: [twin.id], limit: 1000 })
  return showHolding({ twin, held, key, unit }, await quantitiesOf(tx, held))
}

function showHolding(
  { twin, held, key, unit }: { twin: TwinRow; held: readonly BalanceRow[]; key: string | null; unit: BalanceUnit },
  quantities: ReadonlyMap<string, DigitalQuantityRow>,
) {
  const shown: Record<string, number> = { [twin.dq]: 0 }
  for (const balance of held) {
    const { decimals } = required(quantities.get(balance.dq), `the digital quantity ${balance.dq}`)
    shown[balance.dq] = toAmount(spendable(balance), unit === 'smallest' ? 0 : decimals)
  }
  return { id: twin.id, hostname: twin.hostname, key, balances: shown }
}

/** Lists an owner's twins with their keys, newest first. */
export async function listTwins(
  tx: Reader,
  owner: Owner,
  page: PageBounds,
  context: Pick<ServiceContext, 'keys' | 'options'>,
) {
  const { rows, next } = await newestFirst(tx, twins, { index: 'byOwner', prefix: [owner], ...page })
  return { twins: await showTwins(tx, rows, context), next }
}

/** Several twins with their keys, in a few reads. */
export async function showTwins(
  tx: Reader,
  rows: readonly TwinRow[],
  context: Pick<ServiceContext, 'keys' | 'options'>,
): Promise<ShownTwin[]> {
  const read = new ReadOnce(tx)
  const known = new Map((await allQuantities(tx)).map((row) => [row.id, row]))
  const quantities = [...known.keys()].sort()
  // Reads every balance that these twins can have in one call, because a query finds those of only one twin.
  const ids = rows.flatMap((twin) => quantities.map((dq) => balanceId(twin.id, dq)))
  await read.getMany(balances, ids)
  const shown = []
  for (const twin of rows) {
    const own = quantities.map((dq) => balanceId(twin.id, dq))
    const held = (await read.getMany(balances, own)).filter((row) => row !== undefined)
    shown.push(showHolding({ twin, held, key: twinKey(twin, context), unit: context.options.balances }, known))
  }
  return shown
}

/** Reads one of the owner's twins, with its key if the context has the keys. Throws like `ownTwin`. */
export async function readTwin(
  tx: Reader,
  owner: Owner,
  name: string,
  { options: { balances: unit }, keys }: Pick<ServiceContext, 'options'> & Partial<Pick<ServiceContext, 'keys'>>,
): Promise<ShownTwin> {
  const twin = await ownTwin(tx, owner, name)
  return showTwin(tx, twin, { key: keys ? twinKey(twin, { keys }) : null, unit })
}

/** Creates a digital quantity and the twin that issues it. `hash`: of one of another service, whose definition is not known. */
export async function createQuantity(
  tx: Writer,
  { hash, ...definition }: QuantityDefinition & { readonly hash?: string },
  service: TwinContext & Pick<ServiceContext, 'clock'>,
): Promise<DigitalQuantityRow> {
  const dq = hash ?? quantityHash(definition)
  const issuer = await createTwin(tx, { owner: `issuer:${dq}`, dq, at: service.clock.now() }, service)
  return recordQuantity(tx, definition, { hash: dq, issuerTwinId: issuer.id })
}

/** A host with or without scheme, port and path. A pattern, because runtimes parse URLs differently. */
const HOST = /^(?:https?:\/\/)?([a-z0-9._-]+)(?::\d+)?(?:[/?#].*)?$/i
const ADDRESS = /^41[0-9a-f]{64}$/

/** The hostname or address in the text by which someone names a twin, in lower case. Undefined if the text has another form. */
export const twinNameIn = (text: string): string | undefined => HOST.exec(text.trim())?.[1]?.toLowerCase()

/** The twin that a text names: its hostname, its whole address, or its URL. */
export async function twinNamed(tx: Reader, text: string): Promise<TwinRow | undefined> {
  const name = twinNameIn(text)
  if (name === undefined) return undefined
  if (!ADDRESS.test(name)) return twinByHostname(tx, name)
  const [twin] = await tx.find(twins, { index: 'byAddress', prefix: [name], limit: 1 })
  return twin
}

/** The owner's name for a twin, apart because existing clients expect exactly four fields of a twin. */
interface TwinNameRow {
  readonly id: number
  readonly name: string
}

export const twinNames = collection<TwinNameRow>()(
  'twin_names',
  {},
  { growth: { by: 'the owner of a twin', bound: 'One for each twin.' }, retention: { forever: 'One for each twin.' } },
)

/** One line without control or invisible characters. */
export const TWIN_NAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,64}$/u

/** The name that people see next to the hostname. Null if the owner gave none. */
export const twinName = async (tx: Reader, twinId: number): Promise<string | null> =>
  (await tx.get(twinNames, twinId))?.name ?? null

/** Sets the name of a twin. Its hostname and address stay the same. */
export async function nameTwin(
  tx: Writer,
  { id, owner, hostname }: TwinRow,
  { name, actor = owner, at }: { name: string; actor?: string; at: number },
): Promise<void> {
  tx.put(twinNames, { id, name })
  const subject = `twin:${id}`
  await recordEvent(tx, { owners: [owner], type: 'twin.renamed', actor, subject, data: { hostname, name }, at })
}

const TWIN_NONCE_MS = 5 * 60_000

/** A nonce that proves control of a twin once. The id is the nonce's digest. */
export interface TwinNonceRow {
  readonly id: string
  readonly twin_id: number
  /** Of the twin's owner. A nonce of a lower one is dead. */
  readonly generation: number
  readonly expires_at: number
}

export const twinNonces = collection<TwinNonceRow>()(
  'twin_nonces',
  { byExpiry: { fields: ['expires_at'] }, byTwin: { fields: ['twin_id', 'expires_at'] } },
  {
    refs: { twin_id: 'twins' },
    secrets: ['id'],
    growth: countedDaily('an account or user, by createTwinNonce'),
    retention: { after: 'it expires', keepMs: 0, index: 'byExpiry' },
  },
)

/** Creates a nonce for one of the owner's twins. Throws `not_found`, `not_owner`. */
export async function createTwinNonce(
  tx: Writer,
  { owner, hostname, at }: { owner: Owner; hostname: string; at: number },
  { random, rules }: Pick<ServiceContext, 'random' | 'rules'>,
) {
  const twin = await ownTwin(tx, owner, hostname)
  const nonce = base64url(random.bytes(32))
  const generation = await rules.generationOf(tx, owner)
  tx.put(twinNonces, { id: digest(nonce), twin_id: twin.id, generation, expires_at: at + TWIN_NONCE_MS })
  return { nonce, hostname: twin.hostname, expires_at: seconds(at + TWIN_NONCE_MS) }
}

/** Verifies a nonce and spends it. Throws `twin_nonce_refused`. */
export async function verifyTwinNonce(
  tx: Writer,
  { hostname, nonce, at }: { hostname: string; nonce: string; at: number },
  { rules }: Pick<ServiceContext, 'rules'>,
) {
  const twin = await twinByHostname(tx, hostname)
  const row = await tx.get(twinNonces, digest(nonce))
  if (!twin || row?.twin_id !== twin.id || !isCurrent(row.expires_at, TWIN_NONCE_MS, at))
    throw problem('twin_nonce_refused')
  if (row.generation !== (await rules.generationOf(tx, twin.owner))) throw problem('twin_nonce_refused')
  tx.remove(twinNonces, row.id)
  return { valid: true as const, hostname }
}
