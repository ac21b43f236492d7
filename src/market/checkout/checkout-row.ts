import type { Owner } from '../../base/owner.js'
import { digest } from '../../base/secrets.js'
import type { OnSignIn } from '../../http/context.js'
import { countedDaily } from '../../storage/growth.js'
import { allRows, getExisting } from '../../storage/page.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { catalogItems } from '../catalog/item-row.js'

/** How long an expired checkout still answers 410, so that its payer learns what happened, and if a card was used. */
const UNPAID_FOR = 7 * DAY
const CHARGED_FOR = 90 * DAY

/** Kind of the timer that expires a checkout. Its subject is the checkout's id. */
export const CHECKOUT_EXPIRES = 'checkout_expires'
/** Kind of the timer that ends an attempt to pay. Its subject is the attempt's token. */
export const CHECKOUT_ATTEMPT_ENDS = 'checkout_try_ends'

/** `paying`: someone is paying, or the outcome of a charge is unknown. */
export type CheckoutStatus = 'unpaid' | 'paying' | 'paid' | 'expired'

/** A user, or a guest by the digest of their session id. */
export type Payer = `user:${number}` | `guest:${string}`

/** A link that pays for one purchase. Whoever has it can pay. */
export interface CheckoutRow {
  readonly id: number
  /** Digest of the secret in the link. The secret itself is not stored. */
  readonly token_digest: string
  /** As last written. `checkoutStatus` returns `expired` for an unpaid checkout past its time. */
  readonly status: CheckoutStatus
  readonly catalog_item_id: number
  /** The item's name when the link was created. */
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** The account whose own server created the link, so that its private items are for sale. Null: none. */
  readonly within: number | null
  readonly dq: string
  /** The price of the link in smallest units. It never changes. */
  readonly price: string
  /** The email that the link was made for, if one was given. */
  readonly email: string | null
  readonly success_url: string | null
  readonly cancel_url: string | null
  /** Who created the link. Null: a guest. */
  readonly maker: Owner | null
  /** Token of the attempt that is running. Null: none. */
  readonly attempt: string | null
  /** When that attempt began. Older rows lack it. */
  readonly attempt_at?: number
  /** Receipt of the purchase that paid, or that the attempt began. */
  readonly receipt_id: number | null
  /** Who paid. */
  readonly payer: Payer | null
  /** The twin that holds charged value. Null: no card was used yet. */
  readonly twin_id: number | null
  readonly expires_at: number
  readonly created_at: number
}

export const checkouts = collection<CheckoutRow>()(
  'checkouts',
  {
    byToken: { fields: ['token_digest'], unique: true },
    // Only checkouts with an attempt are in this index.
    byAttempt: { fields: ['attempt'], unique: true },
    // Only paid checkouts are in this index.
    byPayer: { fields: ['payer'] },
    byEnd: { fields: ['status', 'expires_at'] },
  },
  {
    refs: { catalog_item_id: 'catalog_items', dq: 'digital_quantities', receipt_id: 'purchases', twin_id: 'twins' },
    secrets: ['token_digest'],
    growth: countedDaily('anybody, by createCheckout', 'owner or client address'),
    retention: {
      after: 'it expires unpaid, a day after it was made; 90 days if a card was used',
      keepMs: UNPAID_FOR,
      index: 'byEnd',
      prefixes: [['expired']],
      unless: 'it is paid, because it is the receipt of a guest, or a charge or refund waits for someone',
      async spared(tx, rows, { at }) {
        const spared = new Set<number>()
        for (const { id, twin_id, expires_at } of rows)
          if (twin_id !== null && (expires_at + CHARGED_FOR > at || (await hasOpenCharge(tx, id)))) spared.add(id)
        return spared
      },
      belongings: {
        are: 'its charges',
        most: 5,
        async remove(tx, { id }) {
          for await (const charge of chargesOf(tx, id)) tx.remove(checkoutCharges, charge.id)
        },
      },
    },
  },
)

export async function checkoutOfAttempt(tx: Reader, attempt: string): Promise<CheckoutRow | undefined> {
  const [checkout] = await tx.find(checkouts, { index: 'byAttempt', prefix: [attempt], limit: 1 })
  return checkout
}

export const payerOfSession = (sessionId: string, userId: number | null): Payer =>
  userId === null ? `guest:${digest(sessionId)}` : `user:${userId}`

export const isUser = (payer: Payer): payer is `user:${number}` => payer.startsWith('user:')

export const sellerIdOf = async (tx: Reader, { catalog_item_id }: CheckoutRow): Promise<number> =>
  (await getExisting(tx, catalogItems, catalog_item_id)).account_id

export const checkoutSeller = async (tx: Reader, checkout: CheckoutRow): Promise<Owner> =>
  `account:${await sellerIdOf(tx, checkout)}`

/** Statuses of charges that are not settled for their payer. */
const UNSETTLED: readonly ChargeStatus[] = ['pending', 'charged', 'refunding', 'unrefunded', 'refund_lost']

/** More than a guest ever begins, and few enough for one transaction. */
const MAX_ROWS = 1000

/** Makes a guest who signs in the payer of what they began. The old session id becomes useless. */
export const moveCheckoutsAtSignIn: OnSignIn = async (tx, { previousSessionId, userId }) => {
  const guest = payerOfSession(previousSessionId, null)
  const payer: Payer = `user:${userId}`
  for (const status of UNSETTLED)
    for (const charge of await tx.find(checkoutCharges, { index: 'byPayer', prefix: [guest, status], limit: MAX_ROWS }))
      tx.put(checkoutCharges, { ...charge, payer })
  for (const checkout of await tx.find(checkouts, { index: 'byPayer', prefix: [guest], limit: MAX_ROWS }))
    tx.put(checkouts, { ...checkout, payer })
}

/**
 * `pending`: the outcome is unknown. Then `failed`, `lost` (the outcome stays unknown) or `charged` (the value is in
 * the checkout's twin). From `charged`: `spent`, or `refunding` and then `refunded`. `unrefunded` (the processor
 * refused the refund) and `refund_lost` (its outcome stays unknown) wait for the seller, who changes them to
 * `refunded`, `credited` (to the payer's wallet) or `refunding` again.
 */
export type ChargeStatus =
  | 'pending'
  | 'failed'
  | 'lost'
  | 'charged'
  | 'spent'
  | 'refunding'
  | 'refunded'
  | 'unrefunded'
  | 'refund_lost'
  | 'credited'

/** A charge of a card for a checkout. The id is that of the payment that issues the value. */
export interface CheckoutChargeRow {
  readonly id: number
  readonly checkout_id: number
  /** The checkout's id while the charge is pending or charged. */
  readonly open_of: number | null
  readonly payer: Payer
  readonly status: ChargeStatus
  /** Smallest units of the checkout's digital quantity. */
  readonly amount: string
  /** Recipient of the outbox message. */
  readonly to: string
  /** The processor's id of the charge, once it is charged. */
  readonly charge_id: string | null
  /** The movement that holds the value during a refund. */
  readonly movement_id: number | null
  /** Id of the account that sells the item. */
  readonly seller_id: number
  /** Id of the refund at the processor. Absent before a refund. Refunds of the first release have none. */
  readonly refund_id?: string
  /** Why the processor refused the refund. */
  readonly refusal?: string
}

export const checkoutCharges = collection<CheckoutChargeRow>()(
  'checkout_charges',
  {
    byCheckout: { fields: ['checkout_id'] },
    openByCheckout: { fields: ['open_of'] },
    byPayer: { fields: ['payer', 'status'] },
    byStatus: { fields: ['status'] },
  },
  {
    refs: {
      charge_id: null,
      refund_id: null,
      checkout_id: 'checkouts',
      movement_id: 'movements',
      seller_id: 'accounts',
    },
    growth: {
      by: 'whoever pays a link by card',
      bound: 'One for each charge that its payer or guest attempts. Declines are limited.',
    },
    retention: { until: 'its checkout is removed' },
  },
)

export function putCharge(tx: Writer, charge: Omit<CheckoutChargeRow, 'open_of'>): void {
  const isOpen = charge.status === 'pending' || charge.status === 'charged'
  tx.put(checkoutCharges, { ...charge, open_of: isOpen ? charge.checkout_id : null })
}

export const chargesOf = (tx: Reader, checkoutId: number): AsyncGenerator<CheckoutChargeRow> =>
  allRows(tx, checkoutCharges, { index: 'byCheckout', prefix: [checkoutId] })

const final: ReadonlySet<ChargeStatus> = new Set(['failed', 'spent', 'refunded', 'credited'])

/** Whether a charge of a checkout, or its refund, has not ended or waits for someone. */
export async function hasOpenCharge(tx: Reader, checkoutId: number): Promise<boolean> {
  for await (const { status } of chargesOf(tx, checkoutId)) if (!final.has(status)) return true
  return false
}

/** Returns the charges of a checkout that are pending, or charged and not spent. */
export async function openCharges(tx: Reader, { id }: CheckoutRow): Promise<CheckoutChargeRow[]> {
  const open: CheckoutChargeRow[] = []
  for await (const charge of allRows(tx, checkoutCharges, { index: 'openByCheckout', prefix: [id] })) open.push(charge)
  return open
}

export const chargedFor = async (tx: Reader, checkout: CheckoutRow, payer: Payer) =>
  (await openCharges(tx, checkout)).find((charge) => charge.status === 'charged' && charge.payer === payer)
