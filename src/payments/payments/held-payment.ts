import { restoreAuthority } from '../../consent/personas/spending.js'
import type { ServiceContext } from '../../http/context.js'
import type { EventType } from '../../jobs/events/event-types.js'
import type { FlowClaims, FlowRun } from '../../jobs/flows/flow.js'
import { setTimer } from '../../jobs/schedule/timer.js'
import { hold, post, postHold, reverseHold } from '../../money/ledger/movement.js'
import type { TwinRow } from '../../money/twins/twin.js'
import { allRows, getExisting } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import {
  type PaymentRow,
  payments,
  recordPayment,
  recordPaymentEvent,
  type ShownPayment,
  type SpentNonce,
  showPayment,
} from './payment.js'

/** An upstream call for which a payment is held. Settling the payment deletes the row. */
export interface HeldCallRow {
  /** The payment's id. */
  readonly id: number
  /** Token of the flow's run. Unlike the id it is unique: a restored state may use the same ids again. */
  readonly token: string
  /** Who makes the call, as events name them. */
  readonly actor: string
  /** Hash of the delegate whose spending authority was spent, if any. */
  readonly delegate: string | null
}

export const heldCalls = collection<HeldCallRow>()(
  'held_calls',
  {},
  {
    refs: { delegate: 'delegates' },
    secrets: ['delegate', 'token'],
    growth: { by: 'whoever pays', bound: 'One for each payment that waits for an answer.' },
    retention: { until: 'the payment is posted or reversed' },
  },
)

/** What one twin pays a second for the answer of an upstream service. */
export interface PaymentTerms {
  readonly kind: 'paywall' | 'purchase' | 'x402'
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
  /** The nonce of a signed transfer, which is spent unless the payment is reversed. */
  readonly spentNonce?: SpentNonce | undefined
  readonly at: number
}

export type HeldPayment = Pick<HeldCallRow, 'id' | 'token'>

/** Posts a payment at once. Throws `insufficient_funds`, `same_twin`. */
export async function postPayment(tx: Writer, terms: PaymentTerms): Promise<ShownPayment> {
  const payment = await createPaymentRow(tx, terms, 'posted')
  return recordEvents(tx, ['payment.created'], payment, terms)
}

/** How long a payment may be held beyond the longest possible call. */
const GRACE_MS = 30_000

/** Holds a payment during an upstream call of a flow, until `settlePayment`. Throws like `postPayment`. */
export async function holdPayment(
  tx: Writer,
  terms: PaymentTerms & Pick<FlowRun, 'token'>,
  service: Pick<ServiceContext, 'limits'>,
): Promise<HeldPayment> {
  const { token, actor, delegate, at } = terms
  const { id } = await createPaymentRow(tx, terms, 'held')
  tx.put(heldCalls, { id, token, actor, delegate })
  const { timer: kind, longestMs } = heldPayments
  await setTimer(tx, { kind, subject: `${id}`, at: at + longestMs(service), now: at })
  return { id, token }
}

const movementOf = ({ kind, dq, amount, payer, payee, at }: PaymentTerms) =>
  ({ kind, dq, amount, payerTwinId: payer.id, payeeTwinId: payee.id, at }) as const

async function createPaymentRow(tx: Writer, terms: PaymentTerms, status: 'held' | 'posted'): Promise<PaymentRow> {
  const { kind, hash, descriptor, dq, amount, payer, payee, spentNonce, at } = terms
  const movement = amount === 0n ? null : await (status === 'held' ? hold : post)(tx, movementOf(terms))
  const payment = {
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
  }
  return recordPayment(tx, payment, spentNonce)
}

async function recordEvents(
  tx: Writer,
  types: readonly EventType[],
  payment: PaymentRow,
  by: { actor: string; at: number },
) {
  const shown = await showPayment(tx, payment)
  const eventIds = await tx.nextIds(types.map(() => 'events'))
  for (const [i, type] of types.entries())
    await recordPaymentEvent(tx, type, payment, shown, { ...by, eventId: eventIds[i] })
  return shown
}

function endEventTypes({ kind, status }: PaymentRow): EventType[] {
  const isPosted = status === 'posted'
  const ending = isPosted ? 'payment.created' : 'payment.reversed'
  return kind === 'purchase' ? [isPosted ? 'purchase.paid' : 'purchase.reversed', ending] : [ending]
}

/** Whether the payment is still held for the same run. */
export const isPaymentHeld = async (tx: Reader, { id, token }: HeldPayment): Promise<boolean> =>
  (await tx.get(heldCalls, id))?.token === token

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
  // A signed transfer that did not happen can be settled later.
  const unspent = status === 'reversed' && { nonce_digest: null, nonce_expires_at: null, nonce_used_at: null }
  const payment: PaymentRow = { ...held, status, ...unspent }
  tx.put(payments, payment)
  const { delegate } = call
  if (status === 'reversed' && delegate !== null)
    await restoreAuthority(tx, { delegate, dq: held.dq, amount: BigInt(held.amount), at: held.created_at })
  return recordEvents(tx, endEventTypes(payment), payment, { actor: call.actor, at })
}

/** Gives a held payment back, if it is not settled. */
export const reversePayment = (tx: Writer, held: HeldPayment, { clock }: Pick<ServiceContext, 'clock'>) =>
  settlePayment(tx, held, { status: 'reversed', at: clock.now() })

export const heldPayments: FlowClaims<HeldCallRow> = {
  timer: 'held_too_long',
  longestMs: ({ limits }) => limits.upstreamMs + GRACE_MS,
  find: (tx, id) => tx.get(heldCalls, Number(id)),
  all: (tx) => allRows(tx, heldCalls, { index: 'id', prefix: [] }),
  tokenOf: ({ token }) => token,
  claimedAt: async (tx, { id }) => (await getExisting(tx, payments, id)).created_at,
  end: reversePayment,
}
