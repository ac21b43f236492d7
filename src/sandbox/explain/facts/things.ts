import { approvals } from '../../../consent/approvals/approval.js'
import { devices } from '../../../consent/devices/device.js'
import { findConnection, oidcConnections } from '../../../consent/oidc/connection.js'
import { delegates } from '../../../consent/personas/delegate.js'
import { personas } from '../../../consent/personas/persona.js'
import { authenticationRequests } from '../../../consent/second-factor/request.js'
import { users } from '../../../identity/users/user.js'
import { events } from '../../../jobs/events/event.js'
import { invoices } from '../../../market/billing/invoice-row.js'
import { carts } from '../../../market/carts/cart.js'
import { catalogItems } from '../../../market/catalog/item-row.js'
import { checkoutCharges } from '../../../market/checkout/charge.js'
import { purchases } from '../../../market/purchases/receipt-row.js'
import { commodities } from '../../../money/commodities/commodity.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { twinByHostname, twins } from '../../../money/twins/twin.js'
import { payments } from '../../../payments/payments/payment.js'
import { transfers } from '../../../payments/transfers/transfer.js'
import type { Collection, Key, Reader, Row } from '../../../storage/storage.js'
import type { Fix } from './explanation.js'
import type { RefusedRequest } from './refused-request.js'

/** Something that a request names. */
export interface Thing {
  /** The parameter or field that names it. */
  readonly field: string
  readonly value: string
  /** `payment`, `twin` and so on. */
  readonly kind: string
  readonly exists: boolean
  /** Whose it is: `account:1`, `user:2`. Empty if it is public. */
  readonly owners: readonly string[]
  /** Up to five of the same kind that the caller has, the newest first. */
  readonly callers: readonly string[]
}

interface Kind {
  readonly name: string
  read(tx: Reader, value: string): Promise<readonly string[] | undefined>
  /** Up to five ids of this kind that an owner has, the newest first. */
  list(tx: Reader, owner: string): Promise<readonly string[]>
}

/** Rows of a collection by their id, and those that an index has for an owner. */
function kind<R extends Row, I extends string>(
  name: string,
  rows: Collection<R, I>,
  ownersOf: (row: R) => readonly (string | null | undefined)[],
  [index, keyOf, show = ({ id }) => String(id)]: readonly [I?, ((owner: string) => Key)?, ((row: R) => string)?] = [],
  find?: (tx: Reader, value: string) => Promise<R | undefined>,
): Kind {
  // Ids of ledgers are numbers, and the others are texts that no number is.
  const read =
    find ?? ((tx: Reader, value: string) => tx.get(rows, (isNumber(value) ? Number(value) : value) as R['id']))
  return {
    name,
    async read(tx, value) {
      const row = await read(tx, value)
      return row && ownersOf(row).filter((owner) => typeof owner === 'string')
    },
    async list(tx, owner) {
      if (index === undefined || !keyOf) return []
      return (await tx.find(rows, { index, prefix: [keyOf(owner)], limit: 5, reverse: true })).map(show)
    },
  }
}

const isNumber = (value: string): boolean => /^\d{1,15}$/.test(value)
const numbered = (prefix: string) => (owner: string) =>
  owner.startsWith(prefix) ? Number(owner.slice(prefix.length)) : -1
const [whole, userOf, accountOf] = [(owner: string) => owner, numbered('user:'), numbered('account:')]
const ofUser = ({ user_id }: { readonly user_id: number }) => [`user:${user_id}`]
const ofAccount = ({ account_id }: { readonly account_id: number }) => [`account:${account_id}`]
const ofOwner = ({ owner }: { readonly owner: string }) => [owner]

const kinds = {
  twin: kind('twin', twins, ofOwner, ['byOwner', whole, ({ hostname }) => hostname], async (tx, value) =>
    isNumber(value) ? tx.get(twins, Number(value)) : twinByHostname(tx, value),
  ),
  commodity: kind('commodity', commodities, ofOwner, ['byOwner', whole]),
  quantity: kind('digital quantity', digitalQuantities, () => []),
  payment: kind('payment', payments, (row) => [row.payer_owner, row.payee_owner], ['byPayer', whole]),
  transfer: kind('transfer', transfers, (row) => [row.sender_owner, row.recipient_owner], ['bySender', whole]),
  item: kind('catalog item', catalogItems, ofAccount, ['byAccount', accountOf]),
  purchase: kind('purchase', purchases, (row) => [row.buyer, row.seller_owner], ['byBuyer', whole]),
  cart: kind('cart', carts, (row) => [row.holder], ['byHolder', whole]),
  invoice: kind('invoice', invoices, ofAccount, ['byAccount', accountOf]),
  refund: kind('refund', checkoutCharges, (row) => [`account:${row.seller_id}`]),
  approval: kind('approval', approvals, (row) => [`user:${row.user_id}`, `agent:${row.connection_id}`], [
    'byUser',
    userOf,
  ]),
  request: kind('authentication request', authenticationRequests, ofUser, ['byUser', userOf]),
  device: kind('device', devices, ofUser, ['byUser', userOf]),
  connection: kind('connection', oidcConnections, ofUser, ['byUser', userOf], (tx, value) =>
    findConnection(tx, Number(value)),
  ),
  event: kind('event', events, (row) => [row.owner, row.other], ['byOwner', whole]),
  user: kind('user', users, (row) => [`user:${row.id}`, row.made_by === null ? null : `account:${row.made_by}`], [
    'byMaker',
    accountOf,
  ]),
  persona: kind('persona', personas, ofOwner, ['byOwner', whole]),
  delegate: kind('delegate', delegates, (row) => [row.persona_owner]),
}

/** What the parameter of a path names, by the part of the path before it. */
const byPath: Readonly<Record<string, Kind>> = {
  twin: kinds.twin,
  twins: kinds.twin,
  commodity: kinds.commodity,
  payment: kinds.commodity,
  payback: kinds.commodity,
  embed: kinds.commodity,
  payments: kinds.payment,
  transfers: kinds.transfer,
  items: kinds.item,
  tools: kinds.item,
  purchases: kinds.purchase,
  carts: kinds.cart,
  invoices: kinds.invoice,
  refunds: kinds.refund,
  approvals: kinds.approval,
  'authentication-requests': kinds.request,
  registrations: kinds.device,
  connections: kinds.connection,
  events: kinds.event,
  user: kinds.user,
  devices: kinds.user,
  persona: kinds.persona,
  delegates: kinds.delegate,
}

/** What the fields of bodies and queries name. */
const byField: Readonly<Record<string, Kind>> = {
  hostname: kinds.twin,
  destination: kinds.twin,
  twin_id: kinds.twin,
  dq: kinds.quantity,
  catalog_item_id: kinds.item,
  approval_id: kinds.approval,
  cart_id: kinds.cart,
  persona_delegate: kinds.delegate,
  hash: kinds.commodity,
}

/** Everything that a request names by an id, a hash or a hostname, in the order of its path and then its fields. */
export async function thingsIn(asked: RefusedRequest): Promise<Thing[]> {
  const { operation, params, query, body, tx, entry } = asked
  const parts = operation?.path.split('/') ?? []
  const inPath = Object.entries(params).map(
    ([field, value]) => [field, value, byPath[parts[parts.indexOf(`:${field}`) - 1] ?? '']] as const,
  )
  const inFields = Object.entries({ ...query, ...body }).map(
    ([field, value]) => [field, value, byField[field]] as const,
  )
  const things: Thing[] = []
  for (const [field, named, kind] of [...inPath, ...inFields]) {
    if (!kind || (typeof named !== 'string' && typeof named !== 'number')) continue
    const value = String(named)
    const owners = await kind.read(tx, kind === kinds.delegate ? (entry.delegate ?? value) : value)
    const callers = entry.principal === null ? [] : await kind.list(tx, entry.principal)
    things.push({ field, value, kind: kind.name, exists: owners !== undefined, owners: owners ?? [], callers })
  }
  return things
}

/** The first thing that belongs to others than the caller. What has no owner is public. */
export const foreignThing = ({ entry: { principal } }: RefusedRequest, things: readonly Thing[]): Thing | undefined =>
  things.find(({ exists, owners }) => exists && owners.length > 0 && !owners.includes(principal ?? ''))

/** What is wrong about a thing that a request names, and the request by its owner, or for another thing of the caller. */
export function rightCall(asked: RefusedRequest, named: readonly Thing[], wrong: Thing | undefined) {
  const owner = wrong?.owners.find((each) => /^(account|user):/.test(each))
  return {
    ...{ named: named.map(({ callers, ...thing }) => thing), wrong, missing: !wrong?.exists, owner },
    token_from: owner && `POST /v4/${owner.split(':')[0]}/oauth/token`,
    fix: wrong && rightFix(asked, wrong, owner),
  }
}

function rightFix(
  asked: RefusedRequest,
  { exists, field, value, callers }: Thing,
  owner: string | undefined,
): Fix | undefined {
  const [own] = callers
  if (exists && field === 'hostname' && 'hostname' in asked.body)
    return asked.corrected({ body: { hostname: undefined } })
  if (exists) return owner === undefined ? undefined : asked.corrected({ as: owner })
  if (own === undefined) return undefined
  if (field in asked.params)
    return asked.corrected({ path: asked.entry.path.replace(encodeURIComponent(value), encodeURIComponent(own)) })
  return asked.corrected({ body: { [field]: isNumber(own) ? Number(own) : own } })
}
