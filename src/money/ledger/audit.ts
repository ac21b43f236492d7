import type { Reader } from '../../storage/storage.js'
import { MAX_UNITS } from './amount.js'
import {
  type AuditedQuantity,
  brokenBy,
  isCount,
  LedgerTotals,
  NO_ENTRIES,
  ONE_ENTRY_EACH,
  STRAY_ENTRY,
  unitsOf,
} from './audit-rules.js'
import {
  type BalanceRow,
  balanceId,
  balances,
  type EntryRow,
  entries,
  type MovementRow,
  movements,
  type ReservationRow,
  reservations,
} from './movement.js'

/** The first rule of the ledger that is broken, and the rows that break it. */
export interface BrokenRule {
  readonly rule: string
  readonly rows: readonly object[]
}

export interface Audit {
  readonly ok: boolean
  readonly broken: BrokenRule | null
  readonly digital_quantities: { dq: string; issued: number; balances: number; held: number }[]
  readonly movements: number
}

export interface AuditSource {
  /** Runs one slice of the audit in a transaction. */
  read<T>(body: (tx: Reader) => Promise<T>): Promise<T>
  quantities(tx: Reader): Promise<readonly AuditedQuantity[]>
  /** Lets other work run between two slices. */
  pause?(): Promise<void>
}

/**
 * Checks every rule of the ledger in slices, so that no other call waits for the whole. Movements and entries may be
 * added meanwhile. Each slice that judges balances also reads what was added, so it sees the sums of its moment.
 */
export async function audit(source: AuditSource): Promise<Audit> {
  const found = await new AuditRun(source).run()
  // The state may have been replaced between two slices, or numbers of rival processes may have landed out of order.
  return found.ok ? found : new AuditRun(source).run()
}

/** How many movements a slice reads, and twice as many entries. */
const MOVEMENTS = 200
const ENTRIES = 2 * MOVEMENTS
/** How many balances a slice judges, and how many open holds of theirs it reads again. A single balance may have more. */
const BALANCES = 200
const HOLDS = 200

/** A posted movement whose entries were not all read yet. */
interface Waiting {
  readonly movement: MovementRow
  readonly sides: EntryRow[]
}

interface Slice {
  readonly dqs: readonly string[]
}

interface Added extends Slice {
  readonly movements: readonly MovementRow[]
  readonly entries: readonly EntryRow[]
  /** Movements that were read before and have new entries. Undefined for an entry without a movement. */
  readonly earlier: ReadonlyMap<number, MovementRow | undefined>
  readonly isWhole: boolean
}

/** Balances, with what they must equal at the same moment. */
interface Judged {
  readonly balances: readonly BalanceRow[]
  /** The movements that were held when they were read before, as they are now. */
  readonly holds: readonly (MovementRow | undefined)[]
  readonly reservations: readonly ReservationRow[]
  readonly missing: readonly string[]
  readonly isWhole: boolean
}

interface JudgingSlice extends Slice {
  readonly added: Added
  /** Absent if more was added than one slice reads. */
  readonly judged?: Judged
}

class AuditRun {
  readonly #source: AuditSource
  #quantities: ReadonlyMap<string, AuditedQuantity> = new Map()
  readonly #totals = new LedgerTotals()
  /** The ids of the last movement and entry that were read. */
  #lastMovement = 0
  #lastEntry = 0
  #lastBalance: string | undefined
  /** By balance id: what the entries add up to. */
  readonly #amounts = new Map<string, bigint>()
  /** By balance id: the ids of movements that were held when they were read. */
  readonly #holds = new Map<string, Set<number>>()
  readonly #waiting = new Map<number, Waiting>()
  /** Entries of movements that were not read yet. */
  readonly #early = new Map<number, EntryRow[]>()
  readonly #judged = new Set<string>()
  readonly #reserving = new Set<string>()
  #movements = 0
  #broken: BrokenRule | null = null

  constructor(source: AuditSource) {
    this.#source = source
  }

  async run(): Promise<Audit> {
    await this.#inSlices(
      (tx) => this.#readAdded(tx),
      (added) => this.#add(added),
    )
    await this.#checkReservations()
    await this.#inSlices(
      (tx) => this.#readBalances(tx),
      (slice) => this.#judge(slice),
    )
    this.#checkTotals()
    return {
      ok: this.#broken === null,
      broken: this.#broken,
      digital_quantities: [...this.#quantities.values()].map((quantity) => this.#totals.show(quantity)),
      movements: this.#movements,
    }
  }

  /** Repeats until a slice is the last. Only `apply` changes this run, because a body may run more than once. */
  async #inSlices<S extends Slice>(read: (tx: Reader) => Promise<S>, apply: (slice: S) => boolean): Promise<void> {
    for (;;) {
      const { slice, quantities } = await this.#source.read(async (tx) => {
        const slice = await read(tx)
        const isKnown = slice.dqs.every((dq) => this.#quantities.has(dq)) && this.#quantities.size > 0
        return { slice, quantities: isKnown ? undefined : await this.#source.quantities(tx) }
      })
      if (quantities) this.#know(quantities)
      if (apply(slice)) return
      await this.#source.pause?.()
    }
  }

  /** Digital quantities may be added meanwhile. */
  #know(quantities: readonly AuditedQuantity[]): void {
    this.#quantities = new Map(quantities.map((quantity) => [quantity.dq, quantity]))
    for (const { dq } of quantities) this.#totals.know(dq)
  }

  #found(rule: string | null, ...rows: object[]): void {
    if (rule !== null) this.#broken ??= { rule, rows }
  }

  async #readAdded(tx: Reader): Promise<Added> {
    const from = { index: 'id', prefix: [] } as const
    const moved = await tx.find(movements, { ...from, after: [this.#lastMovement], limit: MOVEMENTS })
    const entered = await tx.find(entries, { ...from, after: [this.#lastEntry], limit: ENTRIES })
    const last = moved.at(-1)?.id ?? this.#lastMovement
    const isHere = new Set(moved.map(({ id }) => id))
    const isEarlier = ({ movement_id: id }: EntryRow) => !isHere.has(id) && !this.#waiting.has(id) && !(id > last)
    const ids = [...new Set(entered.filter(isEarlier).map(({ movement_id }) => movement_id))]
    const rows = ids.length > 0 ? await tx.getMany(movements, ids) : []
    return {
      movements: moved,
      entries: entered,
      earlier: new Map(ids.map((id, i) => [id, rows[i]])),
      isWhole: moved.length < MOVEMENTS && entered.length < ENTRIES,
      dqs: dqsOf(moved),
    }
  }

  #add({ movements: moved, entries: entered, earlier, isWhole }: Added): boolean {
    const read = new Map(moved.map((movement) => [movement.id, movement]))
    for (const movement of moved) this.#addMovement(movement)
    for (const entry of entered) this.#addEntry(entry, read.get(entry.movement_id) ?? earlier.get(entry.movement_id))
    this.#lastMovement = moved.at(-1)?.id ?? this.#lastMovement
    this.#lastEntry = entered.at(-1)?.id ?? this.#lastEntry
    if (isWhole) this.#endMovements()
    return isWhole
  }

  #addMovement(movement: MovementRow): void {
    this.#movements++
    const sides = this.#early.get(movement.id) ?? []
    this.#early.delete(movement.id)
    if (movement.state === 'posted' && sides.length < 2) {
      this.#waiting.set(movement.id, { movement, sides })
      return
    }
    this.#check(movement, sides)
    if (movement.state !== 'held') return
    const id = balanceId(movement.payer_twin_id, movement.dq)
    const holds = this.#holds.get(id) ?? new Set()
    this.#holds.set(id, holds.add(movement.id))
  }

  #addEntry(entry: EntryRow, movement: MovementRow | undefined): void {
    this.#addAmount(entry)
    const { movement_id: id } = entry
    const waiting = this.#waiting.get(id)
    if (waiting) {
      waiting.sides.push(entry)
      if (waiting.sides.length === 2) this.#complete(waiting)
    } else if (id > this.#lastMovement && !movement) this.#early.set(id, [...(this.#early.get(id) ?? []), entry])
    else if (!movement) this.#found(STRAY_ENTRY, entry)
    else if (movement.state !== 'posted') this.#found(NO_ENTRIES, movement, entry)
    else if (this.#endHold(movement)) this.#waiting.set(id, { movement, sides: [entry] })
    else this.#found(ONE_ENTRY_EACH, movement, entry)
  }

  #complete({ movement, sides }: Waiting): void {
    this.#check(movement, sides)
    this.#waiting.delete(movement.id)
  }

  #check(movement: MovementRow, sides: readonly EntryRow[]): void {
    this.#found(brokenBy(movement, sides, this.#quantities), movement, ...sides)
  }

  /** Returns whether the movement was held when it was read before. */
  #endHold({ id, payer_twin_id, dq }: MovementRow): boolean {
    return this.#holds.get(balanceId(payer_twin_id, dq))?.delete(id) ?? false
  }

  /** A balance that was judged before takes part in the totals as of its entries so far. */
  #addAmount({ twin_id, dq, amount }: EntryRow): void {
    const id = balanceId(twin_id, dq)
    const units = unitsOf(amount) ?? 0n
    this.#amounts.set(id, (this.#amounts.get(id) ?? 0n) + units)
    if (!this.#judged.has(id)) return
    this.#totals.add(dq, { isIssuer: this.#quantities.get(dq)?.issuerTwinId === twin_id, spendable: units })
  }

  /** A movement lands together with its entries, so at the end of both nothing waits. */
  #endMovements(): void {
    for (const { movement, sides } of this.#waiting.values()) this.#check(movement, sides)
    for (const [entry] of this.#early.values()) if (entry) this.#found(STRAY_ENTRY, entry)
    this.#waiting.clear()
    this.#early.clear()
  }

  async #checkReservations(): Promise<void> {
    let after: number | undefined
    const read = async (tx: Reader) => {
      const past = after !== undefined && { after: [after] }
      const rows = await tx.find(reservations, { index: 'id', prefix: [], limit: BALANCES, ...past })
      return { rows, dqs: dqsOf(rows) }
    }
    await this.#inSlices(read, ({ rows }) => {
      for (const reservation of rows) {
        const { dq, issuer_twin_id, amount } = reservation
        if (this.#quantities.get(dq)?.issuerTwinId !== issuer_twin_id)
          this.#found("a reservation names its digital quantity's issuer", reservation)
        if (!isCount(amount) || BigInt(amount) <= 0n)
          this.#found('the amount of a reservation is above zero', reservation)
        this.#reserving.add(balanceId(issuer_twin_id, dq))
      }
      after = rows.at(-1)?.id
      return rows.length < BALANCES
    })
  }

  /** Reads what was added first. If there is more than a slice of it, this slice judges no balances. */
  async #readBalances(tx: Reader): Promise<JudgingSlice> {
    const added = await this.#readAdded(tx)
    if (!added.isWhole) return { added, dqs: added.dqs }
    const after = this.#lastBalance === undefined ? {} : { after: [this.#lastBalance] }
    const page = await tx.find(balances, { index: 'id', prefix: [], limit: BALANCES, ...after })
    const isLast = page.length < BALANCES
    const { rest, missing } = isLast ? await this.#readRest(tx, added, page) : { rest: [], missing: [] }
    const few = this.#withFewHolds([...page, ...rest])
    const holds = await tx.getMany(
      movements,
      few.flatMap(({ id }) => [...(this.#holds.get(id) ?? [])]),
    )
    const isIssuer = ({ dq, twin_id, reserved }: BalanceRow) =>
      reserved !== undefined || this.#quantities.get(dq)?.issuerTwinId === twin_id
    const kept = few.some(isIssuer) ? await tx.find(reservations, { index: 'id', prefix: [], limit: 1_000_000 }) : []
    const isWhole = isLast && few.length === page.length + rest.length
    const judged = { balances: few, holds, reservations: kept, missing: isWhole ? missing : [], isWhole }
    return { added, judged, dqs: [...added.dqs, ...dqsOf(few)] }
  }

  /** Balances that entries, holds and reservations need and that the pages did not show. */
  async #readRest(tx: Reader, added: Added, page: readonly BalanceRow[]) {
    const needed = new Set([...this.#amounts.keys(), ...this.#reserving])
    for (const [id, holds] of this.#holds) if (holds.size > 0) needed.add(id)
    for (const { twin_id, dq } of added.entries) needed.add(balanceId(twin_id, dq))
    for (const { state, payer_twin_id, dq } of added.movements)
      if (state === 'held') needed.add(balanceId(payer_twin_id, dq))
    for (const { id } of page) needed.delete(id)
    const ids = [...needed].filter((id) => !this.#judged.has(id))
    const rows = ids.length > 0 ? await tx.getMany(balances, ids) : []
    const rest = rows.filter((row) => row !== undefined)
    return { rest, missing: ids.filter((_, i) => rows[i] === undefined) }
  }

  /** The first of these balances, as many as have few open holds together, and one at least. */
  #withFewHolds(rows: readonly BalanceRow[]): readonly BalanceRow[] {
    let held = 0
    const end = rows.findIndex(({ id }, i) => {
      held += this.#holds.get(id)?.size ?? 0
      return i > 0 && held > HOLDS
    })
    return end < 0 ? rows : rows.slice(0, end)
  }

  #judge({ added, judged }: JudgingSlice): boolean {
    this.#add(added)
    if (!judged) return false
    const reserved = new Map<string, bigint>()
    for (const { issuer_twin_id, dq, amount } of judged.reservations)
      add(reserved, balanceId(issuer_twin_id, dq), amount)
    const held = this.#heldNow(judged.holds, added.movements)
    for (const balance of judged.balances) this.#judgeBalance(balance, held, reserved)
    if (judged.missing.length > 0)
      this.#found('every entry and hold is in a balance', ...judged.missing.map((id) => ({ id })))
    return judged.isWhole
  }

  /** Sums of the holds that are open now, by balance. */
  #heldNow(earlier: readonly (MovementRow | undefined)[], added: readonly MovementRow[]): ReadonlyMap<string, bigint> {
    const held = new Map<string, bigint>()
    const addHeld = ({ payer_twin_id, dq, amount }: MovementRow) => add(held, balanceId(payer_twin_id, dq), amount)
    for (const movement of earlier) {
      if (!movement) continue
      if (movement.state === 'held') addHeld(movement)
      // Entries of a posted one were added already, and then it was no hold any more.
      else if (this.#endHold(movement)) this.#check(movement, [])
    }
    for (const movement of added) if (movement.state === 'held') addHeld(movement)
    return held
  }

  #judgeBalance(balance: BalanceRow, holds: ReadonlyMap<string, bigint>, reservedNow: ReadonlyMap<string, bigint>) {
    const { id, dq, twin_id } = balance
    this.#judged.add(id)
    if (this.#lastBalance === undefined || id > this.#lastBalance) this.#lastBalance = id
    // An amount that is no number is not equal to any sum.
    const amount = unitsOf(balance.amount)
    const held = unitsOf(balance.held)
    const kept = unitsOf(balance.reserved ?? '0')
    const isIssuer = this.#quantities.get(dq)?.issuerTwinId === twin_id
    if (typeof twin_id !== 'number' || id !== balanceId(twin_id, dq) || !this.#totals.has(dq))
      this.#found('a balance belongs to one twin and one digital quantity of the service', balance)
    if (amount !== (this.#amounts.get(id) ?? 0n)) this.#found("a balance equals the sum of its twin's entries", balance)
    if (held !== (holds.get(id) ?? 0n)) this.#found("a balance's held amount equals its twin's open holds", balance)
    if (kept !== (reservedNow.get(id) ?? 0n))
      this.#found("a balance's reserved supply equals its open reservations", balance)
    const spendable = (amount ?? 0n) - (held ?? 0n)
    if (spendable < 0n && !isIssuer) this.#found('only the issuer is below zero', balance)
    if (isIssuer && spendable - (kept ?? 0n) < -MAX_UNITS)
      this.#found('the issued and reserved value is within the supply', balance)
    this.#totals.add(dq, { isIssuer, spendable, held: held ?? 0n })
  }

  #checkTotals(): void {
    for (const quantity of this.#quantities.values())
      if (!this.#totals.isBalanced(quantity.dq))
        this.#found('balances, holds and issued value add up to zero', this.#totals.show(quantity))
  }
}

const dqsOf = (rows: readonly { readonly dq: string }[]): string[] => [...new Set(rows.map(({ dq }) => dq))]

function add(sums: Map<string, bigint>, id: string, amount: string): void {
  sums.set(id, (sums.get(id) ?? 0n) + (unitsOf(amount) ?? 0n))
}
