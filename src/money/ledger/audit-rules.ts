import { required } from '../../base/required.js'
import { toAmount } from './amount.js'
import type { EntryRow, MovementRow } from './movement.js'

export interface AuditedQuantity {
  readonly dq: string
  readonly decimals: number
  readonly issuerTwinId: number
}

export const STRAY_ENTRY = 'every entry belongs to a movement'
export const ONE_ENTRY_EACH = 'a posted movement has one entry for its payer and one for its payee'
export const NO_ENTRIES = 'only a posted movement has entries'

/** The rule that a movement and its entries break. Null if they break none. */
export function brokenBy(
  movement: MovementRow,
  sides: readonly EntryRow[],
  quantities: ReadonlyMap<string, AuditedQuantity>,
): string | null {
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
  if (state !== 'posted') return sides.length === 0 ? null : NO_ENTRIES
  if (payee_twin_id === null) return 'a posted movement has a payee'
  const payer = sides.find(({ twin_id }) => twin_id === payer_twin_id)
  const payee = sides.find(({ twin_id }) => twin_id === payee_twin_id)
  if (sides.length !== 2 || !payer || !payee) return ONE_ENTRY_EACH
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

/** No sum of amounts has more digits. Computing a longer one takes steps that grow faster than it does. */
export const isCount = (text: unknown): text is string => typeof text === 'string' && /^(0|-?[1-9]\d{0,39})$/.test(text)

/** An unreadable amount is a finding, not a failure of the audit. */
export const unitsOf = (text: unknown): bigint | undefined => (isCount(text) ? BigInt(text) : undefined)

interface Total {
  issued: bigint
  spendable: bigint
  held: bigint
}

/** What an audit adds up for each digital quantity. */
export class LedgerTotals {
  readonly #totals = new Map<string, Total>()

  know(dq: string): void {
    if (!this.#totals.has(dq)) this.#totals.set(dq, { issued: 0n, spendable: 0n, held: 0n })
  }

  has(dq: string): boolean {
    return this.#totals.has(dq)
  }

  /** Adds to what twins have, or to what the issuer has issued. Ignores digital quantities that it does not know. */
  add(dq: string, added: { readonly isIssuer: boolean; readonly spendable: bigint; readonly held?: bigint }): void {
    const total = this.#totals.get(dq)
    if (!total) return
    total.held += added.held ?? 0n
    if (added.isIssuer) total.issued -= added.spendable
    else total.spendable += added.spendable
  }

  isBalanced(dq: string): boolean {
    const { issued, spendable, held } = this.#of(dq)
    return issued === spendable + held
  }

  show({ dq, decimals }: AuditedQuantity) {
    const { issued, spendable, held } = this.#of(dq)
    return {
      dq,
      issued: toAmount(issued, decimals),
      balances: toAmount(spendable, decimals),
      held: toAmount(held, decimals),
    }
  }

  #of(dq: string): Total {
    return required(this.#totals.get(dq), `the total of ${dq}`)
  }
}
