import { problem } from '../../base/problem.js'
import { getExisting } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { MAX_UNITS } from './amount.js'

/** What a twin has of one digital quantity. It can spend `amount` minus `held`. */
export interface BalanceRow {
  readonly id: string
  readonly twin_id: number
  readonly dq: string
  /** Smallest units: the sum of the twin's entries. */
  readonly amount: string
  /** Smallest units of `amount` that open holds set aside. */
  readonly held: string
  /** Only for an issuer: smallest units of supply that are kept free for cards that are being charged. Default: 0. */
  readonly reserved?: string
  /** While a history is imported into the twin: nothing of it counts before all of it is there. Absent otherwise. */
  readonly importing?: true
}

export const balances = collection<BalanceRow>()(
  'balances',
  { byTwin: { fields: ['twin_id', 'dq'] } },
  {
    refs: { dq: 'digital_quantities', twin_id: 'twins' },
    growth: { by: 'the service', bound: 'One for each twin and digital quantity in which it has received value.' },
    retention: { forever: 'It is value.' },
  },
)

export const balanceId = (twinId: number, dq: string): string => `${twinId}:${dq}`

export const emptyBalance = (twinId: number, dq: string): BalanceRow => ({
  id: balanceId(twinId, dq),
  twin_id: twinId,
  dq,
  amount: '0',
  held: '0',
})

export const balanceOf = async (tx: Reader, twinId: number, dq: string): Promise<BalanceRow> =>
  (await tx.get(balances, balanceId(twinId, dq))) ?? emptyBalance(twinId, dq)

/** Smallest units that the twin can spend now. None while a history is imported. */
export const spendable = (balance: BalanceRow): bigint => (balance.importing ? 0n : unheld(balance))

/** Smallest units that no hold sets aside, of an imported history too. */
export const unheld = ({ amount, held }: BalanceRow): bigint => BigInt(amount) - BigInt(held)

/** Smallest units of an issuer's supply that are kept free for cards that are being charged. */
export const reserved = ({ reserved = '0' }: BalanceRow): bigint => BigInt(reserved)

export type MovementKind =
  | ('issue' | 'payment' | 'payback' | 'transfer' | 'topup' | 'refund' | 'purchase' | 'paywall')
  | 'x402'

/** A movement of value between two twins. It starts as `held` or as `posted`. */
export interface MovementRow {
  readonly id: number
  readonly kind: MovementKind
  readonly dq: string
  /** Smallest units, above zero. */
  readonly amount: string
  readonly payer_twin_id: number
  /** Null while a hold waits for someone to claim it. */
  readonly payee_twin_id: number | null
  readonly state: 'held' | 'posted' | 'reversed'
  readonly created_at: number
  readonly settled_at: number | null
  /** When the hold began; null when it has ended. Orders the index of open holds. */
  readonly held_at: number | null
  /** The `fileIdentity` of the imported binder that it comes from. Absent for a movement that was made here. */
  readonly identity?: string
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

export const movements = collection<MovementRow>()(
  'movements',
  { openHolds: { fields: ['held_at'] } },
  {
    refs: { dq: 'digital_quantities', payee_twin_id: 'twins', payer_twin_id: 'twins' },
    growth: { by: 'whoever pays', bound: 'At most three for each payment. Each one is a record of value.' },
    retention: { forever: 'It is a record of value.' },
  },
)

export const entries = collection<EntryRow>()(
  'entries',
  { byTwin: { fields: ['twin_id', 'at'] }, byMovement: { fields: ['movement_id'] } },
  {
    refs: { counterpart_twin_id: 'twins', movement_id: 'movements', twin_id: 'twins', dq: 'digital_quantities' },
    growth: { by: 'whoever pays', bound: 'Two for each movement.' },
    retention: { forever: 'It is a record of value.' },
  },
)

/** The parties and the amount of a new movement. */
export interface MovementOrder {
  readonly kind: MovementKind
  readonly dq: string
  readonly amount: bigint
  readonly payerTwinId: number
  readonly payeeTwinId: number
  readonly at: number
  /** Issuing value puts the issuer's twin below zero. No other twin may be. */
  readonly payerIsIssuer?: boolean
  /** Part of an imported history: the `fileIdentity` of its record. It may spend what does not count yet. */
  readonly identity?: string
}

/** Moves value at once. Throws `insufficient_funds`, `same_twin`. */
export async function post(tx: Writer, order: MovementOrder): Promise<MovementRow> {
  const funds = await fundsFor(tx, order)
  return postWith(tx, order, funds, await tx.nextIds(movementIds))
}

export interface Funds {
  readonly payer: BalanceRow
  readonly payee: BalanceRow
}

/** Reads both balances and checks that the payer has enough. Throws `insufficient_funds`, `same_twin`. */
export async function fundsFor(tx: Reader, order: MovementOrder): Promise<Funds> {
  checkSides(order)
  const funds = await bothBalances(tx, order)
  checkFunds(funds.payer, order)
  return funds
}

/** The counters of the numbers that `postWith` takes: for the movement and its two entries. */
export const movementIds = ['movements', 'entries', 'entries'] as const

/** Moves value, with the funds that `fundsFor` read in this transaction and numbers of `movementIds`. */
export function postWith(tx: Writer, order: MovementOrder, funds: Funds, [id, ...entryIds]: readonly number[]) {
  const movement = newMovement(tx, id, order, 'posted')
  enter(tx, movement, funds, { ids: entryIds, at: order.at })
  return movement
}

/** An order whose payee may not be known yet. */
export interface HoldOrder extends Omit<MovementOrder, 'payeeTwinId'> {
  readonly payeeTwinId: number | null
}

/** Sets value aside: the payer can no longer spend it, and the payee does not have it yet. Throws like `post`. */
export async function hold(tx: Writer, order: HoldOrder): Promise<MovementRow> {
  checkSides(order)
  const payer = await balanceOf(tx, order.payerTwinId, order.dq)
  checkFunds(payer, order)
  tx.put(balances, { ...payer, held: String(BigInt(payer.held) + order.amount) })
  return newMovement(tx, await tx.nextId('movements'), order, 'held')
}

/** Gives a held amount to its payee, or to the claimant. Throws `same_twin`, and an Error if it is not held: nothing posts twice. */
export async function postHold(tx: Writer, movementId: number, at: number, claimantTwinId: number | null = null) {
  const movement = await openHold(tx, movementId)
  const payee_twin_id = movement.payee_twin_id ?? claimantTwinId
  if (payee_twin_id === null) throw new Error(`movement ${movementId} has no payee`)
  if (payee_twin_id === movement.payer_twin_id) throw problem('same_twin')
  const settled = { ...movement, payee_twin_id, state: 'posted', held_at: null, settled_at: at } as const
  tx.put(movements, settled)
  const { dq, payer_twin_id: payerTwinId } = movement
  const { payer, payee } = await bothBalances(tx, { dq, payerTwinId, payeeTwinId: payee_twin_id })
  const ids = await tx.nextIds(['entries', 'entries'])
  enter(tx, settled, { payer: released(payer, movement), payee }, { ids, at })
  return settled
}

export async function reverseHold(tx: Writer, movementId: number, at: number): Promise<MovementRow> {
  const movement = await openHold(tx, movementId)
  const settled: MovementRow = { ...movement, state: 'reversed', held_at: null, settled_at: at }
  tx.put(movements, settled)
  tx.put(balances, released(await balanceOf(tx, movement.payer_twin_id, movement.dq), movement))
  return settled
}

function checkSides({ amount, payerTwinId, payeeTwinId }: HoldOrder): void {
  if (amount <= 0n) throw new RangeError('the amount of a movement must be above zero')
  if (payerTwinId === payeeTwinId) throw problem('same_twin')
}

function checkFunds(payer: BalanceRow, { amount, payerIsIssuer, identity }: HoldOrder): void {
  if (payerIsIssuer) checkIssuable(payer, amount)
  else if ((identity === undefined ? spendable(payer) : unheld(payer)) < amount) throw problem('insufficient_funds')
}

const bothBalances = (
  tx: Reader,
  { dq, payerTwinId, payeeTwinId }: Pick<MovementOrder, 'dq' | 'payerTwinId' | 'payeeTwinId'>,
): Promise<Funds> =>
  tx.getMany(balances, [balanceId(payerTwinId, dq), balanceId(payeeTwinId, dq)]).then(([payer, payee]) => ({
    payer: payer ?? emptyBalance(payerTwinId, dq),
    payee: payee ?? emptyBalance(payeeTwinId, dq),
  }))

function newMovement<Payee extends number | null>(
  tx: Writer,
  id: number | undefined,
  order: Omit<HoldOrder, 'payeeTwinId'> & { readonly payeeTwinId: Payee },
  state: 'held' | 'posted',
) {
  const movement: MovementRow & { readonly payee_twin_id: Payee } = {
    id: taken(id),
    kind: order.kind,
    dq: order.dq,
    amount: String(order.amount),
    payer_twin_id: order.payerTwinId,
    payee_twin_id: order.payeeTwinId,
    state,
    created_at: order.at,
    settled_at: state === 'posted' ? order.at : null,
    held_at: state === 'held' ? order.at : null,
    ...(order.identity !== undefined && { identity: order.identity }),
  }
  tx.put(movements, movement)
  return movement
}

type KnownPayee = MovementRow & { readonly payee_twin_id: number }

function enter(
  tx: Writer,
  movement: KnownPayee,
  { payer, payee }: Funds,
  { ids: [payerEntry, payeeEntry], at }: { ids: readonly number[]; at: number },
): void {
  const amount = BigInt(movement.amount)
  enterSide(tx, movement, { id: taken(payerEntry), balance: payer, counterpart: payee.twin_id, change: -amount, at })
  enterSide(tx, movement, { id: taken(payeeEntry), balance: payee, counterpart: payer.twin_id, change: amount, at })
}

/** Checks that the storage returned enough numbers. Throws an Error. */
function taken(id: number | undefined): number {
  if (id === undefined) throw new Error('a movement needs three numbers')
  return id
}

interface Side {
  readonly id: number
  readonly balance: BalanceRow
  readonly counterpart: number
  readonly change: bigint
  readonly at: number
}

function enterSide(tx: Writer, movement: MovementRow, { id, balance, counterpart, change, at }: Side): void {
  tx.put(balances, { ...balance, amount: String(BigInt(balance.amount) + change) })
  tx.put(entries, {
    id,
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

const released = (payer: BalanceRow, { amount }: MovementRow): BalanceRow => ({
  ...payer,
  held: String(BigInt(payer.held) - BigInt(amount)),
})

/** Supply that is kept free, so that what a card is charged for, or a binder brings, can surely be issued. */
export interface ReservationRow {
  /** The id of its payment. That of an import is a number of the same counter. */
  readonly id: number
  readonly dq: string
  readonly issuer_twin_id: number
  /** Smallest units, above zero. */
  readonly amount: string
  /** Whose limits the charge counts against. Null for an import. */
  readonly maker: string | null
}

export const reservations = collection<ReservationRow>()(
  'reservations',
  { byMaker: { fields: ['maker'] } },
  {
    refs: { dq: 'digital_quantities', issuer_twin_id: 'twins' },
    growth: { by: 'the service', bound: 'One for each card charge or import in progress.' },
    retention: { until: 'the card was charged or declined, or the binder is imported' },
  },
)

export interface Reserving {
  readonly paymentId: number
  readonly dq: string
  readonly issuerTwinId: number
  readonly amount: bigint
  readonly maker: string | null
}

/** Whether someone's charges that have no outcome yet hold at least this many reservations. */
export const hasReserved = async (tx: Reader, maker: string, many: number): Promise<boolean> =>
  (await tx.find(reservations, { index: 'byMaker', prefix: [maker], limit: many })).length >= many

/** Reserves supply. Throws `amount_invalid` if that much cannot be issued in addition to what is reserved already. */
export async function reserveSupply(tx: Writer, { paymentId, dq, issuerTwinId, amount, maker }: Reserving) {
  const issuer = await balanceOf(tx, issuerTwinId, dq)
  checkIssuable(issuer, amount)
  tx.put(balances, { ...issuer, reserved: String(reserved(issuer) + amount) })
  tx.put(reservations, { id: paymentId, dq, issuer_twin_id: issuerTwinId, amount: String(amount), maker })
}

/** Ends a payment's reservation, if it has one. */
export async function releaseSupply(tx: Writer, paymentId: number): Promise<void> {
  const row = await tx.get(reservations, paymentId)
  if (!row) return
  const issuer = await balanceOf(tx, row.issuer_twin_id, row.dq)
  tx.put(balances, { ...issuer, reserved: String(reserved(issuer) - BigInt(row.amount)) })
  tx.remove(reservations, paymentId)
}

/** Takes an amount out of a reservation, to issue it in the same transaction. The last one ends the reservation. */
export async function drawSupply(tx: Writer, id: number, amount: bigint): Promise<void> {
  const { dq, issuer_twin_id: issuerTwinId, amount: left, maker } = await getExisting(tx, reservations, id)
  await releaseSupply(tx, id)
  const rest = BigInt(left) - amount
  if (rest > 0n) await reserveSupply(tx, { paymentId: id, dq, issuerTwinId, amount: rest, maker })
}

/** Checks that an issuer stays above -(2^53-1) units, with reservations. Throws `amount_invalid`. */
export function checkIssuable(issuer: BalanceRow, amount: bigint): void {
  if (spendable(issuer) - reserved(issuer) - amount >= -MAX_UNITS) return
  throw problem('amount_invalid', { detail: 'It is more than can be issued now. Use a smaller amount.' })
}

export const ledgerFeature = { collections: [balances, movements, entries, reservations] }
