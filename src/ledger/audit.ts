import { toAmount } from '../ledger/amount.js'
import { allRows } from '../storage/page.js'
import type { Reader } from '../storage/storage.js'
import { balanceId, balances, spendable } from './balance.js'
import { type EntryRow, entries, type MovementRow, movements } from './movement.js'

/** What the audit needs to know of a digital quantity. */
export interface AuditedQuantity {
  readonly dq: string
  readonly decimals: number
  readonly issuerTwinId: number
}

/** The first rule of the ledger that does not hold, and the rows that break it. */
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

interface Sums {
  /** By balance id: what entries and open holds say it must be. */
  readonly amounts: Map<string, bigint>
  readonly held: Map<string, bigint>
  readonly movements: number
}

/** Reads the whole ledger and checks every rule that must always hold. */
export async function audit(tx: Reader, quantities: AuditedQuantity[]): Promise<Audit> {
  const sums = { amounts: new Map<string, bigint>(), held: new Map<string, bigint>(), movements: 0 }
  const broken =
    (await checkMovements(tx, sums)) ??
    (await checkBalances(tx, sums, quantities)) ??
    (await checkIssued(tx, quantities))
  const digital_quantities = []
  for (const quantity of quantities) digital_quantities.push(await totals(tx, quantity))
  return { ok: broken === null, broken, digital_quantities, movements: sums.movements }
}

async function checkMovements(tx: Reader, sums: Sums & { movements: number }): Promise<BrokenRule | null> {
  for await (const movement of allRows(tx, movements, { index: 'id', prefix: [] })) {
    sums.movements++
    const sides = await tx.find(entries, { index: 'byMovement', prefix: [movement.id], limit: 3 })
    const rule = brokenBy(movement, sides)
    if (rule) return { rule, rows: [movement, ...sides] }
    for (const side of sides) add(sums.amounts, balanceId(side.twin_id, side.dq), BigInt(side.amount))
    if (movement.state === 'held')
      add(sums.held, balanceId(movement.payer_twin_id, movement.dq), BigInt(movement.amount))
  }
  return null
}

function brokenBy(movement: MovementRow, sides: EntryRow[]): string | null {
  if (movement.state !== 'posted') return sides.length === 0 ? null : 'only a posted movement has entries'
  const payer = sides.find(({ twin_id }) => twin_id === movement.payer_twin_id)
  const payee = sides.find(({ twin_id }) => twin_id === movement.payee_twin_id)
  if (sides.length !== 2 || !payer || !payee)
    return 'a posted movement has one entry for its payer and one for its payee'
  if (payee.amount !== movement.amount || payer.amount !== `-${movement.amount}`) return "a movement's entries cancel"
  if (payer.dq !== movement.dq || payee.dq !== movement.dq) return "a movement's entries are in its digital quantity"
  return null
}

async function checkBalances(tx: Reader, sums: Sums, quantities: AuditedQuantity[]): Promise<BrokenRule | null> {
  const issuers = new Set(quantities.map(({ dq, issuerTwinId }) => balanceId(issuerTwinId, dq)))
  const unseen = new Set([...sums.amounts.keys(), ...sums.held.keys()])
  for await (const balance of allRows(tx, balances, { index: 'id', prefix: [] })) {
    unseen.delete(balance.id)
    if (BigInt(balance.amount) !== (sums.amounts.get(balance.id) ?? 0n))
      return { rule: "a balance equals the sum of its twin's entries", rows: [balance] }
    if (BigInt(balance.held) !== (sums.held.get(balance.id) ?? 0n))
      return { rule: "what a balance holds back equals its twin's open holds", rows: [balance] }
    if (spendable(balance) < 0n && !issuers.has(balance.id))
      return { rule: 'no twin but the issuer is below zero', rows: [balance] }
  }
  return unseen.size === 0
    ? null
    : { rule: 'every entry and hold is in a balance', rows: [...unseen].map((id) => ({ id })) }
}

async function checkIssued(tx: Reader, quantities: AuditedQuantity[]): Promise<BrokenRule | null> {
  for (const quantity of quantities) {
    const { issued, held, spendable: kept } = await sumOf(tx, quantity)
    if (issued !== kept + held)
      return { rule: 'balances sum to zero with the issuer and the holds counted', rows: [await totals(tx, quantity)] }
  }
  return null
}

async function sumOf(tx: Reader, { dq, issuerTwinId }: AuditedQuantity) {
  const sum = { issued: 0n, held: 0n, spendable: 0n }
  for await (const balance of allRows(tx, balances, { index: 'id', prefix: [] })) {
    if (balance.dq !== dq) continue
    sum.held += BigInt(balance.held)
    if (balance.twin_id === issuerTwinId) sum.issued -= BigInt(balance.amount)
    else sum.spendable += spendable(balance)
  }
  return sum
}

async function totals(tx: Reader, quantity: AuditedQuantity) {
  const { issued, held, spendable: kept } = await sumOf(tx, quantity)
  const show = (units: bigint) => toAmount(units, quantity.decimals)
  return { dq: quantity.dq, issued: show(issued), balances: show(kept), held: show(held) }
}

const add = (sums: Map<string, bigint>, id: string, amount: bigint) => sums.set(id, (sums.get(id) ?? 0n) + amount)
