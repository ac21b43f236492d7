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

/** A call of an upstream service, for which a payment is held. Gone once that is settled. */
export interface HeldCallRow {
  /** The payment's. */
  readonly id: number
  /** Names the call among all there ever are: a state that takes the place of this one may count its payments anew. */
  readonly token: string
  /** Who has it made. */
  readonly actor: string
  /** By whose spending authority the payer pays, where that was spent. */
  readonly delegate: string | null
}

export const heldCalls = collection<HeldCallRow>()('held_calls', {})

/** What is paid by one twin to another for what an upstream service answers. */
export interface PaymentTerms {
  readonly kind: 'paywall' | 'purchase'
  /** The commodity's hash, where it is one's price. */
  readonly hash: string | null
  readonly descriptor: string
  readonly dq: string
  /** Smallest units. Where it is 0, nothing moves. */
  readonly amount: bigint
  readonly payer: TwinRow
  readonly payee: TwinRow
  readonly actor: string
  /** The hash of the delegate whose spending authority was spent for it. */
  readonly delegate: string | null
  readonly at: number
}

/** Names a payment that is held for a call. */
export type HeldPayment = Pick<HeldCallRow, 'id' | 'token'>

/** Pays at once. Throws `insufficient_funds`, `same_twin`. */
export async function postPayment(tx: Writer, terms: PaymentTerms): Promise<ShownPayment> {
  const payment = await createPaymentRow(tx, terms, 'posted')
  return recordEvents(tx, ['payment.created'], payment, terms)
}

/** How long past the longest call a payment may be held. */
const GRACE_MS = 30_000

/** The kind of timer that looks after a payment whose call should be over; its subject is the payment's id. */
export const HELD_TOO_LONG = 'held_too_long'

/** Holds a payment while an upstream service is called, until `settlePayment`. Throws as `postPayment`. */
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

/** Tells both sides of a payment, by an event of each type. */
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

/** Whoever ends the call, and however: both sides are told what came of a purchase as well. */
function endEventTypes({ kind, status }: PaymentRow): string[] {
  const isPosted = status === 'posted'
  const ending = isPosted ? 'payment.created' : 'payment.reversed'
  return kind === 'purchase' ? [isPosted ? 'purchase.paid' : 'purchase.reversed', ending] : [ending]
}

/** Posts or reverses what is held; undefined where that was done already, or the payment is no longer there. */
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

/** A payment whose call nobody makes any more is reversed. */
export const reverseOverdue: TimerJob = async (tx, subject, service) => {
  const call = await tx.get(heldCalls, Number(subject))
  if (!call) return
  const at = service.clock.now()
  if (!service.ongoing.has(call.token)) {
    await settlePayment(tx, call, { status: 'reversed', at })
    return
  }
  // A clock that was moved does not end a call that runs; as far as it was moved, it is not asked again at each step of it.
  const { created_at } = await getExisting(tx, payments, call.id)
  await setTimer(tx, { kind: HELD_TOO_LONG, subject, at: at + Math.max(GRACE_MS, at - created_at) })
}

/** Reverses what is held for calls that are not made here, where nobody else makes any. */
export async function reverseAbandoned(tx: Writer, { ongoing, clock }: Pick<ServiceContext, 'ongoing' | 'clock'>) {
  for await (const call of allRows(tx, heldCalls, { index: 'id', prefix: [] }))
    if (!ongoing.has(call.token)) await settlePayment(tx, call, { status: 'reversed', at: clock.now() })
}
