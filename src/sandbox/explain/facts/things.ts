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
  /** Ids of this kind that an owner has. */
  list?(tx: Reader, owner: string): Promise<readonly string[]>
}

/** Up to five ids under a prefix, the newest first. */
async function newest<R extends Row, I extends string>(
  tx: Reader,
  from: Collection<R, I>,
  { index, prefix, show = (row) => String(row.id) }: { index: I; prefix: readonly Key[]; show?: (row: R) => string },
): Promise<string[]> {
  return (await tx.find(from, { index, prefix, limit: 5, reverse: true })).map(show)
}

const numberOf = (value: string): number => (/^\d{1,15}$/.test(value) ? Number(value) : -1)

const userOf = (owner: string): number => numberOf(/^user:(\d+)$/.exec(owner)?.[1] ?? '')
const accountOf = (owner: string): number => numberOf(/^account:(\d+)$/.exec(owner)?.[1] ?? '')

const kinds = {
  twin: {
    name: 'twin',
    async read(tx, value) {
      const twin = (await twinByHostname(tx, value)) ?? (await tx.get(twins, numberOf(value)))
      return twin && [twin.owner]
    },
    list: (tx, owner) => newest(tx, twins, { index: 'byOwner', prefix: [owner], show: ({ hostname }) => hostname }),
  },
  commodity: {
    name: 'commodity',
    async read(tx, value) {
      const row = await tx.get(commodities, value)
      return row && [row.owner]
    },
    list: (tx, owner) => newest(tx, commodities, { index: 'byOwner', prefix: [owner] }),
  },
  quantity: {
    name: 'digital quantity',
    read: async (tx, value) => ((await tx.get(digitalQuantities, value)) ? [] : undefined),
  },
  payment: {
    name: 'payment',
    async read(tx, value) {
      const row = await tx.get(payments, numberOf(value))
      return row && [row.payer_owner, row.payee_owner]
    },
    list: (tx, owner) => newest(tx, payments, { index: 'byPayer', prefix: [owner] }),
  },
  transfer: {
    name: 'transfer',
    async read(tx, value) {
      const row = await tx.get(transfers, numberOf(value))
      return row && [row.sender_owner, ...(row.recipient_owner ? [row.recipient_owner] : [])]
    },
    list: (tx, owner) => newest(tx, transfers, { index: 'bySender', prefix: [owner] }),
  },
  item: {
    name: 'catalog item',
    async read(tx, value) {
      const row = await tx.get(catalogItems, numberOf(value))
      return row && [`account:${row.account_id}`]
    },
    list: (tx, owner) => newest(tx, catalogItems, { index: 'byAccount', prefix: [accountOf(owner)] }),
  },
  purchase: {
    name: 'purchase',
    async read(tx, value) {
      const row = await tx.get(purchases, numberOf(value))
      return row && [row.buyer, row.seller_owner]
    },
    list: (tx, owner) => newest(tx, purchases, { index: 'byBuyer', prefix: [owner] }),
  },
  cart: {
    name: 'cart',
    async read(tx, value) {
      const row = await tx.get(carts, numberOf(value))
      return row && [row.holder]
    },
    list: (tx, owner) => newest(tx, carts, { index: 'byHolder', prefix: [owner] }),
  },
  invoice: {
    name: 'invoice',
    async read(tx, value) {
      const row = await tx.get(invoices, numberOf(value))
      return row && [`account:${row.account_id}`]
    },
    list: (tx, owner) => newest(tx, invoices, { index: 'byAccount', prefix: [accountOf(owner)] }),
  },
  refund: {
    name: 'refund',
    async read(tx, value) {
      const row = await tx.get(checkoutCharges, numberOf(value))
      return row && [`account:${row.seller_id}`]
    },
  },
  approval: {
    name: 'approval',
    async read(tx, value) {
      const row = await tx.get(approvals, value)
      return row && [`user:${row.user_id}`, `agent:${row.connection_id}`]
    },
    list: (tx, owner) => newest(tx, approvals, { index: 'byUser', prefix: [userOf(owner)] }),
  },
  request: {
    name: 'authentication request',
    async read(tx, value) {
      const row = await tx.get(authenticationRequests, numberOf(value))
      return row && [`user:${row.user_id}`]
    },
    list: (tx, owner) => newest(tx, authenticationRequests, { index: 'byUser', prefix: [userOf(owner)] }),
  },
  device: {
    name: 'device',
    async read(tx, value) {
      const row = await tx.get(devices, numberOf(value))
      return row && [`user:${row.user_id}`]
    },
    list: (tx, owner) => newest(tx, devices, { index: 'byUser', prefix: [userOf(owner)] }),
  },
  connection: {
    name: 'connection',
    async read(tx, value) {
      const row = await findConnection(tx, numberOf(value))
      return row && [`user:${row.user_id}`]
    },
    list: (tx, owner) => newest(tx, oidcConnections, { index: 'byUser', prefix: [userOf(owner)] }),
  },
  event: {
    name: 'event',
    async read(tx, value) {
      const row = await tx.get(events, numberOf(value))
      return row && [row.owner, ...(row.other ? [row.other] : [])]
    },
    list: (tx, owner) => newest(tx, events, { index: 'byOwner', prefix: [owner] }),
  },
  user: {
    name: 'user',
    async read(tx, value) {
      const row = await tx.get(users, numberOf(value))
      return row && [`user:${row.id}`, ...(row.made_by === null ? [] : [`account:${row.made_by}`])]
    },
    list: (tx, owner) => newest(tx, users, { index: 'byMaker', prefix: [accountOf(owner)] }),
  },
  persona: {
    name: 'persona',
    async read(tx, value) {
      const row = await tx.get(personas, value)
      return row && [row.owner]
    },
    list: (tx, owner) => newest(tx, personas, { index: 'byOwner', prefix: [owner] }),
  },
  delegate: {
    name: 'delegate',
    async read(tx, value) {
      const row = await tx.get(delegates, value)
      return row && [row.persona_owner]
    },
  },
} satisfies Record<string, Kind>

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
    const callers = entry.principal === null ? [] : ((await kind.list?.(tx, entry.principal)) ?? [])
    things.push({ field, value, kind: kind.name, exists: owners !== undefined, owners: owners ?? [], callers })
  }
  return things
}
