import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount } from '../../money/ledger/amount.js'
import { type TwinRow, twinByHostname } from '../../money/twins/twin.js'
import type { Reader } from '../../storage/storage.js'
import { type ApprovedSecondFactor, awaitSecondFactor, type UserSession } from '../second-factor/await-second-factor.js'
import { ownPersona, type PersonaRow } from './persona.js'
import { checkSpendingAuthority, type NewSpendingAuthority, type SpendingAuthority } from './spending-authority.js'

export interface NewDelegate {
  /** The persona's hash. */
  readonly persona: string
  /** The persona's owner. */
  readonly owner: Owner
  /** The twin that receives it. */
  readonly hostname: string
  readonly name?: string | null | undefined
  readonly email?: string | null | undefined
  readonly spend?: NewSpendingAuthority | null | undefined
}

/** A checked order for a delegate. */
export interface DelegatePlan {
  readonly persona: PersonaRow
  readonly twin: TwinRow
  readonly spend: SpendingAuthority | null
}

/** Checks an order. Throws `not_found` for an unknown persona or twin, `not_owner`, and everything that `checkSpendingAuthority` throws. */
export async function planDelegate(tx: Reader, order: NewDelegate, at: number): Promise<DelegatePlan> {
  const persona = await ownPersona(tx, order.owner, order.persona)
  const twin = await twinByHostname(tx, order.hostname)
  if (!twin) throw problem('not_found', { detail: 'No twin has this hostname.' })
  return { persona, twin, spend: order.spend ? await checkSpendingAuthority(tx, order.spend, at) : null }
}

/** Waits until the user approves a delegate that lets others spend. Other delegates need no approval. Throws like `planDelegate` and `awaitSecondFactor`. */
export async function awaitDelegateApproval(
  service: ServiceContext,
  order: NewDelegate,
  session: UserSession,
): Promise<ApprovedSecondFactor | undefined> {
  if (!order.spend) return undefined
  const { storage, clock } = service
  const asked = await storage.read(async (tx) =>
    secondFactorOrder(tx, await planDelegate(tx, order, clock.now()), session),
  )
  return { ...session, request: await awaitSecondFactor(service, asked) }
}

/** The second factor for a delegate: who may spend how much of the user's value. */
export async function secondFactorOrder(tx: Reader, { persona, twin, spend }: DelegatePlan, session: UserSession) {
  const { userId, sessionId } = session
  const detail = { persona: persona.name, given_to: twin.hostname, ...(spend && (await authorityDetail(tx, spend))) }
  return { userId, sessionId, action: 'delegate', detail }
}

async function authorityDetail(tx: Reader, { party, dq, limit, period, expires_at }: SpendingAuthority) {
  const { decimals, shortcode } = await quantityOf(tx, dq)
  return {
    spender: 'client_id' in party ? party.client_id : party.public_secret,
    limit: `${formatAmount(limit, decimals)} ${shortcode}${period === null ? '' : ` a ${period}`}`,
    ...(expires_at !== null && { until: new Date(expires_at).toISOString() }),
  }
}
