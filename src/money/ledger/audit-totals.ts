import { required } from '../../base/required.js'
import { toAmount } from './amount.js'
import type { AuditedQuantity } from './audit-rules.js'

/** Sums of one digital quantity over all twins, in smallest units. */
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
