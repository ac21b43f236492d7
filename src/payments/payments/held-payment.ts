import { randomHex } from '../../base/secrets.js'
import { restoreAuthority } from '../../consent/personas/spending.js'
import type { ServiceContext } from '../../http/context.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { hold, post, postHold, reverseHold } from '../../money/ledger/movement.js'
import type { TwinRow } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/existing.js'
import { allRows } from '../../storage/page.js'
import { collection, type Writer } from '../../storage/storage.js'
import {
  type PaymentRow,
  payments,
  recordPayment,
  recordPaymentEvent,
  type ShownPayment,
  showPayment,
} from './payment.js'

/** An upstream call for which a payment is held. Settling the payment deletes the row. */
export interface HeldCallRow {
  /** The payment's id. */
  readonly id: number
  /** Unique for every call, unlike the id: a restored state may use the same ids again. */
  readonly token: string
  /** Who makes the call, as events name them. */
  readonly actor: string
  /** Hash of the delegate whose spending authority was spent, if any. */
  readonly delegate: string | null
}

export const heldCalls = collection<HeldCallRow>()('held_calls', {})

/** What one twin pays a second for the answer of an upstream service. */
export interface PaymentTerms {
  readonly kind: 'paywall' | 'purchase'
  /** The commodity's hash. Null if the price is not a commodity's. */
  readonly hash: string | null
  readonly descriptor: string
  readonly dq: string
  /** Smallest units. For 0, nothing moves. */
  readonly amount: bigint
  readonly payer: TwinRow
  readonly payee: TwinRow
  readonly actor: string
  /** Hash of the delegate whose spending authority was spent, if any. */
  readonly delegate: string | null
  readonly at: number
}

/** Identifies a held payment. */
export type HeldPayment = Pick<HeldCallRow, 'id' | 'token'>

/** Posts a payment at once. Throws `insufficient_funds`, `same_twin`. */
export async function postPayment(tx: Writer, terms: PaymentTerms): Promise<ShownPayment> {
  const payment = await createPaymentRow(tx, terms, 'posted')
  return recordEvents(tx, ['payment.created'], payment, terms)
}

/** How long a payment may be held beyond the longest possible call. */
const GRACE_MS = 30_000

/** Kind of the timer that checks a payment whose call should be over. Its subject is the payment's id. */
export const HELD_TOO_LONG = 'held_too_long'

/** Holds a payment during an upstream call, until `settlePayment`. Throws like `postPayment`. */
export async function holdPayment(
  tx: Writer,
  terms: PaymentTerms,
  { random, limits }: Pick<ServiceContext, 'random' | 'limits'>,
): Promise<HeldPayment> {
  const { id } = await createPaymentRow(tx, terms, 'held')
  const token = randomHex(random, 16)
  tx.put(heldCalls, { id, token, actor: terms.actor, delegate: terms.delegate })
  await setTimer(tx, { kind: HELD_TOO_LONG, subject: `${id}`, at: terms.at + limits.upstreamMs + GRACE_MS })
  return { id, token }
}

const movementOf = ({ kind, dq, amount, payer, payee, at }: PaymentTerms) =>
  ({ kind, dq, amount, payerTwinId: payer.id, payeeTwinId: payee.id, at }) as const

async function createPaymentRow(tx: Writer, terms: PaymentTerms, status: 'held' | 'posted'): Promise<PaymentRow> {
  const { kind, hash, descriptor, dq, amount, payer, payee, at } = terms
  const movement = amount === 0n ? null : await (status === 'held' ? hold : post)(tx, movementOf(terms))
  return recordPayment(tx, {
    hash,
    descriptor,
    dq,
    amount: String(amount),
    payer_owner: payer.owner,
    payer_twin_id: payer.id,
    payee_owner: payee.owner,
    payee_twin_id: payee.id,
    movement_id: movement?.id ?? null,
    kind,
    status,
    created_at: at,
  })
}

/** Records an event of each type for both sides of a payment. */
async function recordEvents(
  tx: Writer,
  types: readonly string[],
  payment: PaymentRow,
  by: { actor: string; at: number },
) {
  const shown = await showPayment(tx, payment)
  const eventIds = await tx.nextIds(types.map(() => 'events'))
  for (const [i, type] of types.entries())
    await recordPaymentEvent(tx, type, payment, shown, { ...by, eventId: eventIds[i] })
  return shown
}

/** The events of a settled payment. A purchase has two. */
function endEventTypes({ kind, status }: PaymentRow): string[] {
  const isPosted = status === 'posted'
  const ending = isPosted ? 'payment.created' : 'payment.reversed'
  return kind === 'purchase' ? [isPosted ? 'purchase.paid' : 'purchase.reversed', ending] : [ending]
}

/** Posts or reverses a held payment. Returns undefined if it is settled already or no longer exists. */
export async function settlePayment(
  tx: Writer,
  { id, token }: HeldPayment,
  { status, at }: { status: 'posted' | 'reversed'; at: number },
): Promise<ShownPayment | undefined> {
  const call = await tx.get(heldCalls, id)
  if (call?.token !== token) return undefined
  tx.remove(heldCalls, id)
  const held = await getExisting(tx, payments, id)
  if (held.movement_id !== null) await (status === 'posted' ? postHold : reverseHold)(tx, held.movement_id, at)
  const payment: PaymentRow = { ...held, status }
  tx.put(payments, payment)
  const { delegate } = call
  const amount = BigInt(held.amount)
  if (status === 'reversed' && delegate !== null && amount > 0n)
    await restoreAuthority(tx, { delegate, amount, at: held.created_at })
  return recordEvents(tx, endEventTypes(payment), payment, { actor: call.actor, at })
}

/** Reverses a payment whose call has stopped. */
export const reverseOverdue: TimerJob = async (tx, subject, service) => {
  const call = await tx.get(heldCalls, Number(subject))
  if (!call) return
  const at = service.clock.now()
  if (!service.ongoing.has(call.token)) {
    await settlePayment(tx, call, { status: 'reversed', at })
    return
  }
  // A sandbox's clock may have jumped while the call runs. Waiting that long again keeps checks rare.
  const { created_at } = await getExisting(tx, payments, call.id)
  await setTimer(tx, { kind: HELD_TOO_LONG, subject, at: at + Math.max(GRACE_MS, at - created_at) })
}

/** Reverses every payment whose call does not run in this process. Only for a storage that no other process uses. */
export async function reverseAbandoned(tx: Writer, { ongoing, clock }: Pick<ServiceContext, 'ongoing' | 'clock'>) {
  for await (const call of allRows(tx, heldCalls, { index: 'id', prefix: [] }))
    if (!ongoing.has(call.token)) await settlePayment(tx, call, { status: 'reversed', at: clock.now() })
}
