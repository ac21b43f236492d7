import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import { quantityOf } from '../../../money/digital-quantities/digital-quantity.js'
import { toAmount, toUnits } from '../../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../../money/ledger/balance.js'
import { post } from '../../../money/ledger/movement.js'
import { twinByHostname } from '../../../money/twins/twin.js'
import type { Writer } from '../../../storage/storage.js'

/** What a twin was given, and has since. */
export interface Funded {
  hostname: string
  dq: string
  amount: number
  balance: number
}

/**
 * Issues value to a twin. Default: in the twin's digital quantity. Throws `not_found`, `dq_unknown`, `amount_invalid`.
 */
export async function fund(
  tx: Writer,
  { hostname, amount, dq }: { hostname: string; amount: number; dq?: string | undefined },
  { clock }: Pick<ServiceContext, 'clock'>,
): Promise<Funded> {
  const twin = await twinByHostname(tx, hostname)
  if (!twin) throw problem('not_found', { detail: `No twin has the hostname "${hostname}".` })
  const quantity = await quantityOf(tx, dq ?? twin.dq)
  const units = toUnits(amount, quantity.decimals)
  if (units === 0n) throw problem('amount_invalid', { detail: 'The amount must be above zero.' })
  const parties = { payerTwinId: quantity.issuer_twin_id, payeeTwinId: twin.id, payerIsIssuer: true }
  await post(tx, { kind: 'issue', dq: quantity.id, amount: units, ...parties, at: clock.now() })
  const balance = await balanceOf(tx, twin.id, quantity.id)
  return { hostname, dq: quantity.id, amount, balance: toAmount(spendable(balance), quantity.decimals) }
}
