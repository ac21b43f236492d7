import { required } from '../../base/required.js'
import { allRows } from '../../storage/page.js'
import type { Reader } from '../../storage/storage.js'
import { MAX_UNITS, toAmount } from './amount.js'
import { balanceId, balances } from './balance.js'
import { type EntryRow, entries, type MovementRow, movements } from './movement.js'
import { reservations } from './reservation.js'

/** A digital quantity as the audit needs it. */
export interface AuditedQuantity {
  readonly dq: string
  readonly decimals: number
  readonly issuerTwinId: number
}

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

/** Sums of one digital quantity over all twins, in smallest units. */
interface Total {
  issued: bigint
  spendable: bigint
  held: bigint
}

/** What has been read so far. */
interface Findings {
  readonly quantities: ReadonlyMap<string, AuditedQuantity>
  /** By balance id: what entries, open holds and reservations add up to. */
  readonly amounts: Map<string, bigint>
  readonly held: Map<string, bigint>
  readonly reserved: Map<string, bigint>
  readonly totals: Map<string, Total>
  movements: number
  broken: BrokenRule | null
}

/** Checks every rule of the ledger. Reads each row once. */
export async function audit(tx: Reader, quantities: readonly AuditedQuantity[]): Promise<Audit> {
  const findings: Findings = {
    quantities: new Map(quantities.map((quantity) => [quantity.dq, quantity])),
    amounts: new Map(),
    held: new Map(),
    reserved: new Map(),
    totals: new Map(quantities.map(({ dq }) => [dq, { issued: 0n, spendable: 0n, held: 0n }])),
    movements: 0,
    broken: null,
  }
  await readMovements(tx, findings)
  await readReservations(tx, findings)
  await readBalances(tx, findings)
  checkTotals(findings)
  return {
    ok: findings.broken === null,
    broken: findings.broken,
    digital_quantities: quantities.map((quantity) => showTotal(quantity, findings)),
    movements: findings.movements,
  }
}

function found(findings: Findings, rule: string | null, ...rows: object[]): void {
  if (rule !== null) findings.broken ??= { rule, rows }
}

/** Reads movements and entries side by side, because both are in the order of the movements' ids. */
async function readMovements(tx: Reader, findings: Findings): Promise<void> {
  const rest = allRows(tx, entries, { index: 'byMovement', prefix: [] })
  let next = await rest.next()
  for await (const movement of allRows(tx, movements, { index: 'id', prefix: [] })) {
    findings.movements++
    const sides: EntryRow[] = []
    for (; !next.done && next.value.movement_id <= movement.id; next = await rest.next())
      if (next.value.movement_id === movement.id) sides.push(next.value)
      else found(findings, STRAY_ENTRY, next.value)
    found(findings, brokenBy(movement, sides, findings.quantities), movement, ...sides)
    for (const side of sides) add(findings.amounts, balanceId(side.twin_id, side.dq), side.amount)
    if (movement.state === 'held') add(findings.held, balanceId(movement.payer_twin_id, movement.dq), movement.amount)
  }
  if (!next.done) found(findings, STRAY_ENTRY, next.value)
}

const STRAY_ENTRY = 'every entry belongs to a movement'

function brokenBy(movement: MovementRow, sides: EntryRow[], quantities: Findings['quantities']): string | null {
  const { state, payer_twin_id, payee_twin_id, amount, dq } = movement
  if (!isCount(amount) || BigInt(amount) <= 0n) return 'the amount of a movement is above zero'
  if (payer_twin_id === payee_twin_id) return 'a twin does not pay itself'
  const quantity = quantities.get(dq)
  if (!quantity) return "a movement's digital quantity exists"
  if (['issue', 'topup'].includes(movement.kind) && payer_twin_id !== quantity.issuerTwinId)
    return 'only the issuer of a digital quantity issues it'
  if (movement.kind === 'refund' && payee_twin_id !== quantity.issuerTwinId)
    return 'a refund goes back to the issuer of its digital quantity'
  if (!timesFit(movement)) return 'a movement has the times of its state'
  if (state !== 'posted') return sides.length === 0 ? null : 'only a posted movement has entries'
  if (payee_twin_id === null) return 'a posted movement has a payee'
  const payer = sides.find(({ twin_id }) => twin_id === payer_twin_id)
  const payee = sides.find(({ twin_id }) => twin_id === payee_twin_id)
  if (sides.length !== 2 || !payer || !payee)
    return 'a posted movement has one entry for its payer and one for its payee'
  if (payee.amount !== amount || payer.amount !== `-${amount}`) return "a movement's entries cancel"
  if (payer.dq !== dq || payee.dq !== dq) return "a movement's entries are in its digital quantity"
  if (payer.counterpart_twin_id !== payee_twin_id || payee.counterpart_twin_id !== payer_twin_id)
    return "a movement's entries name each other"
  return sides.every(({ at }) => at === movement.settled_at)
    ? null
    : "a movement's entries have the time when it was posted"
}

const timesFit = ({ state, held_at, settled_at }: MovementRow): boolean =>
  state === 'held'
    ? held_at !== null && settled_at === null
    : ['posted', 'reversed'].includes(state) && held_at === null && settled_at !== null

async function readReservations(tx: Reader, findings: Findings): Promise<void> {
  for await (const reservation of allRows(tx, reservations, { index: 'id', prefix: [] })) {
    const { dq, issuer_twin_id, amount } = reservation
    if (findings.quantities.get(dq)?.issuerTwinId !== issuer_twin_id)
      found(findings, "a reservation names its digital quantity's issuer", reservation)
    if (!isCount(amount) || BigInt(amount) <= 0n)
      found(findings, 'the amount of a reservation is above zero', reservation)
    add(findings.reserved, balanceId(issuer_twin_id, dq), amount)
  }
}

async function readBalances(tx: Reader, findings: Findings): Promise<void> {
  const { amounts, held: holds, reserved } = findings
  const unseen = new Set([...amounts.keys(), ...holds.keys(), ...reserved.keys()])
  for await (const balance of allRows(tx, balances, { index: 'id', prefix: [] })) {
    unseen.delete(balance.id)
    const { id, dq, twin_id } = balance
    const amount = unitsOf(balance.amount)
    const held = unitsOf(balance.held)
    const isIssuer = findings.quantities.get(dq)?.issuerTwinId === twin_id
    if (typeof twin_id !== 'number' || id !== balanceId(twin_id, dq) || !findings.totals.has(dq))
      found(findings, 'a balance belongs to one twin and one digital quantity of the service', balance)
    if (amount === undefined || amount !== (findings.amounts.get(id) ?? 0n))
      found(findings, "a balance equals the sum of its twin's entries", balance)
    if (held === undefined || held !== (findings.held.get(id) ?? 0n))
      found(findings, "a balance's held amount equals its twin's open holds", balance)
    const kept = unitsOf(balance.reserved ?? '0')
    if (kept === undefined || kept !== (findings.reserved.get(id) ?? 0n))
      found(findings, "a balance's reserved supply equals its open reservations", balance)
    const spendable = (amount ?? 0n) - (held ?? 0n)
    if (spendable < 0n && !isIssuer) found(findings, 'only the issuer is below zero', balance)
    if (isIssuer && spendable - (kept ?? 0n) < -MAX_UNITS)
      found(findings, 'the issued and reserved value is within the supply', balance)
    const total = findings.totals.get(dq)
    if (!total) continue
    total.held += held ?? 0n
    if (isIssuer) total.issued -= spendable
    else total.spendable += spendable
  }
  if (unseen.size > 0) found(findings, 'every entry and hold is in a balance', ...[...unseen].map((id) => ({ id })))
}

function checkTotals(findings: Findings): void {
  for (const { dq, decimals, issuerTwinId } of findings.quantities.values()) {
    const { issued, spendable, held } = totalOf(dq, findings)
    if (issued === spendable + held) continue
    const shown = showTotal({ dq, decimals, issuerTwinId }, findings)
    found(findings, 'balances, holds and issued value add up to zero', shown)
  }
}

const totalOf = (dq: string, { totals }: Findings): Total => required(totals.get(dq), `the total of ${dq}`)

function showTotal({ dq, decimals }: AuditedQuantity, findings: Findings) {
  const { issued, spendable, held } = totalOf(dq, findings)
  return {
    dq,
    issued: toAmount(issued, decimals),
    balances: toAmount(spendable, decimals),
    held: toAmount(held, decimals),
  }
}

function add(sums: Map<string, bigint>, id: string, amount: string): void {
  sums.set(id, (sums.get(id) ?? 0n) + (unitsOf(amount) ?? 0n))
}

const isCount = (text: unknown): text is string => typeof text === 'string' && /^(0|-?[1-9]\d*)$/.test(text)

/** An unreadable amount is a finding, not a failure of the audit. */
const unitsOf = (text: string): bigint | undefined => (isCount(text) ? BigInt(text) : undefined)
