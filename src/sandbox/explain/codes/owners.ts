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
import { checkoutCharges } from '../../../market/checkout/checkout-row.js'
import { purchases } from '../../../market/purchases/receipt-row.js'
import { commodities } from '../../../money/commodities/commodity.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { twinByHostname, twins } from '../../../money/twins/twin.js'
import { payments } from '../../../payments/payments/payment.js'
import { transfers } from '../../../payments/transfers/transfer.js'
import type { Collection, Key, Reader, Row } from '../../../storage/storage.js'
import type { Fix } from '../facts/explanation.js'
import { callingConnection, payerIn } from '../facts/price.js'
import type { Explainers, RefusedRequest } from '../facts/refused-request.js'

/** Things that are absent, or that belong to others. */
export const ownerExplainers = {
  async not_found(asked) {
    const named = await thingsIn(asked)
    const wrong = named.find((thing) => !thing.exists) ?? foreignThing(asked, named)
    return { ...rightCall(asked, named, wrong), callers: wrong?.exists ? [] : (wrong?.callers ?? []) }
  },
  async not_owner(asked) {
    const named = await thingsIn(asked)
    const twin = (await callingConnection(asked)) && (await payerIn(asked))
    return { ...rightCall(asked, named, foreignThing(asked, named)), agent_twin: twin?.hostname }
  },
  async twin_unknown(asked) {
    const wrong = (await thingsIn(asked)).find(({ field }) => field === 'twin_id')
    const { id, hostname } = (await twinByHostname(asked.tx, wrong?.callers[0] ?? '')) ?? {}
    const fix = id && asked.withFields({ twin_id: id })
    return { twin_id: wrong?.value, owners: wrong?.owners, own: id && { id, hostname }, fix }
  },
} satisfies Explainers

/** Something that a request names. */
interface Thing {
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

interface KindOptions<R extends Row, I extends string> {
  readonly owners: (row: R) => readonly (string | null | undefined)[]
  /** The index that has the rows of an owner, under a key. */
  readonly by?: I
  readonly key?: (owner: string) => Key
  readonly shown?: (row: R) => string
  readonly find?: (tx: Reader, value: string) => Promise<R | undefined>
}

/**
 * A kind of thing: the parts of a path before its id, and the fields that name it. Ids of ledgers are numbers, and the others
 * are texts that no number is.
 */
function kind<R extends Row, I extends string>(
  [name, paths, fields]: readonly [string, string, string],
  rows: Collection<R, I>,
  { owners, by, key = (owner) => owner, shown = ({ id }) => String(id), find }: KindOptions<R, I>,
) {
  return {
    ...{ name, paths: paths.split(' '), fields: fields.split(' ') },
    async read(tx: Reader, value: string) {
      const id = (isNumber(value) ? Number(value) : value) as R['id']
      const row = await (find ? find(tx, value) : tx.get(rows, id))
      return row && owners(row).filter((owner) => typeof owner === 'string')
    },
    async list(tx: Reader, owner: string) {
      if (by === undefined) return []
      return (await tx.find(rows, { index: by, prefix: [key(owner)], limit: 5, reverse: true })).map(shown)
    },
  }
}

const isNumber = (value: string): boolean => /^\d{1,15}$/.test(value)
const numbered = (prefix: string) => (owner: string) =>
  owner.startsWith(prefix) ? Number(owner.slice(prefix.length)) : -1
const [userOf, accountOf] = [numbered('user:'), numbered('account:')]
const byUser = {
  ...{ owners: ({ user_id }: { readonly user_id: number }) => [`user:${user_id}`], by: 'byUser', key: userOf },
} as const
const byAccount = {
  owners: ({ account_id }: { readonly account_id: number }) => [`account:${account_id}`],
  ...{ by: 'byAccount', key: accountOf },
} as const
const ofOwner = ({ owner }: { readonly owner: string }) => [owner]

const kinds = [
  kind(['twin', 'twin twins', 'hostname destination twin_id'], twins, {
    ...{ owners: ofOwner, by: 'byOwner', shown: ({ hostname }) => hostname },
    find: async (tx, value) => (isNumber(value) ? tx.get(twins, Number(value)) : twinByHostname(tx, value)),
  }),
  kind(['commodity', 'commodity payment payback embed', 'hash'], commodities, { owners: ofOwner, by: 'byOwner' }),
  kind(['digital quantity', '', 'dq'], digitalQuantities, { owners: () => [] }),
  kind(['payment', 'payments', ''], payments, { owners: (row) => [row.payer_owner, row.payee_owner], by: 'byPayer' }),
  kind(['transfer', 'transfers', ''], transfers, {
    ...{ owners: (row) => [row.sender_owner, row.recipient_owner], by: 'bySender' },
  }),
  kind(['catalog item', 'items tools', 'catalog_item_id'], catalogItems, byAccount),
  kind(['purchase', 'purchases', ''], purchases, { owners: (row) => [row.buyer, row.seller_owner], by: 'byBuyer' }),
  kind(['cart', 'carts', 'cart_id'], carts, { owners: (row) => [row.holder], by: 'byHolder' }),
  kind(['invoice', 'invoices', ''], invoices, byAccount),
  kind(['refund', 'refunds', ''], checkoutCharges, { owners: (row) => [`account:${row.seller_id}`] }),
  kind(['approval', 'approvals', 'approval_id'], approvals, {
    ...{ owners: (row) => [`user:${row.user_id}`, `agent:${row.connection_id}`], by: 'byUser', key: userOf },
  }),
  kind(['authentication request', 'authentication-requests', ''], authenticationRequests, byUser),
  kind(['device', 'registrations', ''], devices, byUser),
  kind(['connection', 'connections', ''], oidcConnections, {
    ...{ ...byUser, find: (tx, value) => findConnection(tx, Number(value)) },
  }),
  kind(['event', 'events', ''], events, { owners: (row) => [row.owner, row.other], by: 'byOwner' }),
  kind(['user', 'user devices', ''], users, {
    owners: ({ id, made_by }) => [`user:${id}`, made_by === null ? null : `account:${made_by}`],
    ...{ by: 'byMaker', key: accountOf },
  }),
  kind(['persona', 'persona', ''], personas, { owners: ofOwner, by: 'byOwner' }),
  kind(['delegate', 'delegates', 'persona_delegate'], delegates, { owners: (row) => [row.persona_owner] }),
]

/** Everything that a request names by an id, a hash or a hostname, in the order of its path and then its fields. */
async function thingsIn({ operation, params, query, body, tx, entry }: RefusedRequest): Promise<Thing[]> {
  const parts = operation?.path.split('/') ?? []
  const inPath = Object.entries(params).map(([field, value]) => {
    const before = parts[parts.indexOf(`:${field}`) - 1] || '-'
    return { field, value, kind: kinds.find(({ paths }) => paths.includes(before)) }
  })
  const inFields = Object.entries({ ...query, ...body }).map(([field, value]) => ({
    ...{ field, value, kind: kinds.find(({ fields }) => fields.includes(field || '-')) },
  }))
  const things: Thing[] = []
  for (const { field, value: named, kind } of [...inPath, ...inFields]) {
    if (!kind || (typeof named !== 'string' && typeof named !== 'number')) continue
    const value = String(named)
    const owners = await kind.read(tx, kind.name === 'delegate' ? (entry.delegate ?? value) : value)
    const callers = entry.principal === null ? [] : await kind.list(tx, entry.principal)
    things.push({ field, value, kind: kind.name, exists: owners !== undefined, owners: owners ?? [], callers })
  }
  return things
}

/** The first thing that belongs to others than the caller. What has no owner is public. */
const foreignThing = ({ entry: { principal } }: RefusedRequest, things: readonly Thing[]): Thing | undefined =>
  things.find(({ exists, owners }) => exists && owners.length > 0 && !owners.includes(principal ?? ''))

/** What is wrong about a thing that a request names, and the request by its owner, or for another thing of the caller. */
function rightCall(asked: RefusedRequest, named: readonly Thing[], wrong: Thing | undefined) {
  const owner = wrong?.owners.find((each) => /^(account|user):/.test(each))
  return {
    ...{ named: named.map(({ callers, ...thing }) => thing), wrong, missing: !wrong?.exists, owner },
    token_from: owner && `POST /v4/${owner.split(':')[0]}/oauth/token`,
    fix: wrong && rightFix(asked, wrong, owner),
  }
}

function rightFix(asked: RefusedRequest, { exists, field, value, callers }: Thing, as?: string): Fix | undefined {
  const [own] = callers
  if (exists && field === 'hostname' && 'hostname' in asked.body) return asked.withFields({ hostname: undefined })
  if (exists) return as === undefined ? undefined : asked.corrected({ as })
  if (own === undefined) return undefined
  if (field in asked.params)
    return asked.corrected({ path: asked.entry.path.replace(encodeURIComponent(value), encodeURIComponent(own)) })
  return asked.withFields({ [field]: isNumber(own) ? Number(own) : own })
}
