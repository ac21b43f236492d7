import { problem } from '../problem.js'
import { collection, type Writer } from '../storage/storage.js'
import { type BalanceRow, balanceOf, balances, spendable } from './balance.js'
import { checkIssuable } from './reservation.js'

export type MovementKind = 'issue' | 'payment' | 'payback' | 'transfer' | 'topup' | 'refund' | 'purchase' | 'paywall'

/** A movement of value between two twins. It begins `held`, or is born `posted`. */
export interface MovementRow {
  readonly id: number
  readonly kind: MovementKind
  readonly dq: string
  /** Smallest units, above zero. */
  readonly amount: string
  readonly payer_twin_id: number
  /** Null until a hold for whoever claims it is posted. */
  readonly payee_twin_id: number | null
  readonly state: 'held' | 'posted' | 'reversed'
  readonly created_at: number
  readonly settled_at: number | null
  /** The time of the hold while it stands: what the index of open holds orders by. */
  readonly held_at: number | null
}

/** One side of a posted movement. The two sides cancel. */
export interface EntryRow {
  readonly id: number
  readonly movement_id: number
  readonly twin_id: number
  readonly counterpart_twin_id: number
  readonly dq: string
  /** Smallest units, negative for the payer. */
  readonly amount: string
  readonly at: number
}

export const movements = collection<MovementRow>()('movements', { openHolds: { fields: ['held_at'] } })

export const entries = collection<EntryRow>()('entries', {
  byTwin: { fields: ['twin_id', 'at'] },
  byMovement: { fields: ['movement_id'] },
})

/** The parties and the sum of a movement to be made. */
export interface Order {
  readonly kind: MovementKind
  readonly dq: string
  readonly amount: bigint
  readonly payerTwinId: number
  readonly payeeTwinId: number
  readonly at: number
  /** Value enters by the issuer's twin going below zero; no other may. */
  readonly payerIsIssuer?: boolean
}

/** Moves value at once. Throws `insufficient_funds`, `same_twin`. */
export async function post(tx: Writer, order: Order): Promise<MovementRow> {
  const payer = await payerBalance(tx, order)
  const movement = await newMovement(tx, order, 'posted')
  await enter(tx, movement, payer, order.at)
  return movement
}

/** An order whose payee may not be known yet. */
export interface HoldOrder extends Omit<Order, 'payeeTwinId'> {
  readonly payeeTwinId: number | null
}

/** Sets value aside: no longer the payer's to spend, not yet the payee's. Throws as `post`. */
export async function hold(tx: Writer, order: HoldOrder): Promise<MovementRow> {
  const payer = await payerBalance(tx, order)
  tx.put(balances, { ...payer, held: String(BigInt(payer.held) + order.amount) })
  return newMovement(tx, order, 'held')
}

/**
 * Gives a held amount to the payee: to the one who claims it, where the hold named none.
 * Throws `same_twin` for the payer's own, and on a movement that is not held: nothing posts twice.
 */
export async function postHold(
  tx: Writer,
  movementId: number,
  at: number,
  claimantTwinId: number | null = null,
): Promise<MovementRow> {
  const movement = await openHold(tx, movementId)
  const payee_twin_id = movement.payee_twin_id ?? claimantTwinId
  if (payee_twin_id === null) throw new Error(`movement ${movementId} has no payee yet`)
  if (payee_twin_id === movement.payer_twin_id) throw problem('same_twin')
  const settled = { ...movement, payee_twin_id, state: 'posted', held_at: null, settled_at: at } as const
  tx.put(movements, settled)
  await enter(tx, settled, await release(tx, movement), at)
  return settled
}

/** Gives a held amount back to the payer. */
export async function reverseHold(tx: Writer, movementId: number, at: number): Promise<MovementRow> {
  const movement = await openHold(tx, movementId)
  const settled: MovementRow = { ...movement, state: 'reversed', held_at: null, settled_at: at }
  tx.put(movements, settled)
  tx.put(balances, await release(tx, movement))
  return settled
}

async function payerBalance(tx: Writer, order: HoldOrder): Promise<BalanceRow> {
  if (order.amount <= 0n) throw new RangeError('a movement is of more than nothing')
  if (order.payerTwinId === order.payeeTwinId) throw problem('same_twin')
  const payer = await balanceOf(tx, order.payerTwinId, order.dq)
  if (order.payerIsIssuer) checkIssuable(payer, order.amount)
  else if (spendable(payer) < order.amount) throw problem('insufficient_funds')
  return payer
}

async function newMovement<O extends HoldOrder>(tx: Writer, order: O, state: 'held' | 'posted') {
  const movement = {
    id: await tx.nextId('movements'),
    kind: order.kind,
    dq: order.dq,
    amount: String(order.amount),
    payer_twin_id: order.payerTwinId,
    payee_twin_id: order.payeeTwinId as O['payeeTwinId'],
    state,
    created_at: order.at,
    settled_at: state === 'posted' ? order.at : null,
    held_at: state === 'held' ? order.at : null,
  } satisfies MovementRow
  tx.put(movements, movement)
  return movement
}

type KnownPayee = MovementRow & { readonly payee_twin_id: number }

/** Writes both entries of a movement and the balances they make. */
async function enter(tx: Writer, movement: KnownPayee, payer: BalanceRow, at: number): Promise<void> {
  const amount = BigInt(movement.amount)
  const payee = await balanceOf(tx, movement.payee_twin_id, movement.dq)
  await enterSide(tx, movement, { balance: payer, counterpart: payee.twin_id, change: -amount, at })
  await enterSide(tx, movement, { balance: payee, counterpart: payer.twin_id, change: amount, at })
}

async function enterSide(
  tx: Writer,
  movement: MovementRow,
  { balance, counterpart, change, at }: { balance: BalanceRow; counterpart: number; change: bigint; at: number },
): Promise<void> {
  tx.put(balances, { ...balance, amount: String(BigInt(balance.amount) + change) })
  tx.put(entries, {
    id: await tx.nextId('entries'),
    movement_id: movement.id,
    twin_id: balance.twin_id,
    counterpart_twin_id: counterpart,
    dq: movement.dq,
    amount: String(change),
    at,
  })
}

async function openHold(tx: Writer, movementId: number): Promise<MovementRow> {
  const movement = await tx.get(movements, movementId)
  if (movement?.state !== 'held') throw new Error(`movement ${movementId} is ${movement?.state ?? 'absent'}, not held`)
  return movement
}

async function release(tx: Writer, movement: MovementRow): Promise<BalanceRow> {
  const payer = await balanceOf(tx, movement.payer_twin_id, movement.dq)
  return { ...payer, held: String(BigInt(payer.held) - BigInt(movement.amount)) }
}
