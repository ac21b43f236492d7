import type { Owner } from '../../../base/owner.js'
import { problem } from '../../../base/problem.js'
import { normalEmail } from '../../../base/text/email.js'
import type { ServiceContext } from '../../../http/context.js'
import { userByEmail } from '../../../identity/users/user.js'
import { quantityOf } from '../../../money/digital-quantities/digital-quantity.js'
import { toAmount, toUnits } from '../../../money/ledger/amount.js'
import { balanceOf, post, spendable } from '../../../money/ledger/movement.js'
import { createTwin, firstTwinOf, type TwinRow, twinByHostname, twins } from '../../../money/twins/twin.js'
import type { Writer } from '../../../storage/storage.js'

/** What a twin was given, and has since. */
export interface Funded {
  hostname: string
  dq: string
  amount: number
  balance: number
}

/** Whose twin gets how much: a twin by its hostname, a person by their email, or an address of x402 and MPP. */
export interface FundOrder {
  readonly hostname?: string | undefined
  readonly email?: string | undefined
  /** Its twin is made if it is missing. */
  readonly address?: string | undefined
  readonly amount: number
  /** The hash of the digital quantity. Default: that of the twin, or of the person's first twin; of an address, USDC. */
  readonly dq?: string | undefined
}

export async function fund(tx: Writer, { amount, dq, ...whom }: FundOrder, service: ServiceContext): Promise<Funded> {
  return fundTwin(tx, await fundedTwin(tx, { ...whom, dq }, service), { amount, dq }, service)
}

/** Issues value to a twin. Throws `dq_unknown`, `amount_invalid`. */
export async function fundTwin(
  tx: Writer,
  twin: TwinRow,
  { amount, dq }: Pick<FundOrder, 'amount' | 'dq'>,
  service: ServiceContext,
): Promise<Funded> {
  const quantity = await quantityOf(tx, dq ?? twin.dq)
  const units = toUnits(amount, quantity.decimals)
  if (units === 0n) throw problem('amount_invalid', { detail: 'The amount must be above zero.' })
  const parties = { payerTwinId: quantity.issuer_twin_id, payeeTwinId: twin.id, payerIsIssuer: true }
  await post(tx, { kind: 'issue', dq: quantity.id, amount: units, ...parties, at: service.clock.now() })
  const balance = await balanceOf(tx, twin.id, quantity.id)
  return { hostname: twin.hostname, dq: quantity.id, amount, balance: toAmount(spendable(balance), quantity.decimals) }
}

/** The twin of a hostname, or the person's twin in that quantity, made if it is missing. */
async function fundedTwin(
  tx: Writer,
  { hostname, email, address, dq }: Omit<FundOrder, 'amount'>,
  service: ServiceContext,
) {
  if (address !== undefined || (hostname === undefined) === (email === undefined))
    throw problem('field_invalid', { detail: 'Send exactly one of "hostname", "email" and "address".' })
  if (hostname !== undefined) {
    const twin = await twinByHostname(tx, hostname)
    if (!twin) throw problem('not_found', { detail: `No twin has the hostname "${hostname}".` })
    return twin
  }
  const user = await userByEmail(tx, normalEmail(email ?? ''))
  const advice = 'Create the person with POST /_sandbox/seed, or let them sign in once.'
  if (!user) throw problem('not_found', { detail: `Nobody has the email "${email}". ${advice}` })
  const owner: Owner = `user:${user.id}`
  const first = await firstTwinOf(tx, owner)
  if (dq === undefined || dq === first.dq) return first
  const owned = await tx.find(twins, { index: 'byOwner', prefix: [owner], limit: 100 })
  const at = service.clock.now()
  return (
    owned.find((twin) => twin.dq === dq) ?? createTwin(tx, { owner, dq: (await quantityOf(tx, dq)).id, at }, service)
  )
}
