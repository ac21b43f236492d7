import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { responsibleFor } from '../../identity/users/responsible.js'
import { generationOf } from '../../identity/users/user.js'
import { addDaily, waitOfDaily } from '../../jobs/rates/rate.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText } from '../../money/ledger/amount.js'
import { type TwinRow, twinByHostname } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  type ApprovedSecondFactor,
  awaitSecondFactor,
  spendAwaited,
  type UserSession,
} from '../second-factor/await-second-factor.js'
import {
  checkSpendingAuthority,
  type DelegateRow,
  delegateHash,
  delegates,
  type NewSpendingAuthority,
  recordDelegateEvent,
  type SpendingAuthority,
} from './delegate.js'
import { ownPersona, type PersonaRow, personas } from './persona.js'

/** How many delegates one owner gives another in a day. Nobody asks the holder, so nobody fills what others hold. */
const MOST_GIVEN = 100

async function countGiven(tx: Writer, { from, to, at }: { from: Owner; to: Owner; at: number }): Promise<void> {
  if (from === to) return
  const subject = `${await responsibleFor(tx, from)}>${to}`
  const limit = { kind: 'delegates_given', subject, at, most: MOST_GIVEN }
  if (await addDaily(tx, limit, 1)) return
  const seconds = await waitOfDaily(tx, limit)
  throw problem('too_many_new', {
    detail: `One owner gives another at most ${MOST_GIVEN} delegates a day. Try again in ${seconds} seconds.`,
    fields: { of: 'delegates for one owner', limit: MOST_GIVEN },
    headers: { 'retry-after': String(seconds) },
  })
}

/** Gives a twin a delegate. Spends the second factor, if any. Throws like `planDelegate`, and `rejected`, `approval_timeout`, `too_many_new`. */
export async function createDelegate(
  tx: Writer,
  {
    approved,
    at,
    ...order
  }: NewDelegate & { readonly approved?: ApprovedSecondFactor | undefined; readonly at: number },
  service: Pick<ServiceContext, 'random' | 'rules' | 'limits' | 'clock' | 'sandbox'>,
) {
  const plan = await planDelegate(tx, order, at)
  if (approved) await spendAwaited(tx, approved.request, await secondFactorOrder(tx, plan, approved), at)
  await service.rules.countNew(tx, delegates.name, { owner: order.owner }, service)
  const { persona, twin, spend } = plan
  await countGiven(tx, { from: order.owner, to: twin.owner, at })
  const { name, email } = order
  const identity = {
    persona: persona.id,
    issue: persona.issued + 1,
    salt: randomHex(service.random, 16),
    spend,
    created_at: at,
  }
  const row: DelegateRow = {
    id: delegateHash(identity, twin),
    number: await tx.nextId('delegates'),
    ...identity,
    persona_owner: persona.owner,
    generation: await generationOf(tx, persona.owner),
    twin_id: twin.id,
    hostname: twin.hostname,
    name: name ?? null,
    email: email ? normalEmail(email) : null,
    revoked_at: null,
  }
  tx.put(personas, { ...persona, issued: row.issue })
  tx.put(delegates, row)
  await recordDelegateEvent(tx, 'delegate.created', row, twin, at)
  return { hash: row.id, persona: row.persona, hostname: row.hostname, issue: row.issue, created_at: seconds(at) }
}

interface NewDelegate {
  readonly persona: string
  readonly owner: Owner
  /** The twin that receives it. */
  readonly hostname: string
  readonly name?: string | null | undefined
  readonly email?: string | null | undefined
  readonly spend?: NewSpendingAuthority | null | undefined
}

type DelegatePlan = { readonly persona: PersonaRow; readonly twin: TwinRow; readonly spend: SpendingAuthority | null }

async function planDelegate(tx: Reader, order: NewDelegate, at: number): Promise<DelegatePlan> {
  const persona = await ownPersona(tx, order.owner, order.persona)
  const twin = await twinByHostname(tx, order.hostname)
  if (!twin) throw problem('not_found', { detail: 'No twin has this hostname.' })
  return { persona, twin, spend: order.spend ? await checkSpendingAuthority(tx, order.spend, at) : null }
}

/** Waits until the user approves a delegate that lets others spend. Other delegates need no approval. Throws like `planDelegate` and `awaitSecondFactor`. */
export async function awaitDelegateApproval(service: ServiceContext, order: NewDelegate, session: UserSession) {
  if (!order.spend) return undefined
  const { storage, clock } = service
  const asked = await storage.read(async (tx) =>
    secondFactorOrder(tx, await planDelegate(tx, order, clock.now()), session),
  )
  return { ...session, request: await awaitSecondFactor(service, asked) }
}

async function secondFactorOrder(tx: Reader, { persona, twin, spend }: DelegatePlan, session: UserSession) {
  const { userId, sessionId } = session
  const detail = { persona: persona.name, given_to: twin.hostname, ...(spend && (await authorityDetail(tx, spend))) }
  return { userId, sessionId, action: 'delegate', detail }
}

async function authorityDetail(tx: Reader, { party, dq, limit, period, expires_at }: SpendingAuthority) {
  const shown = moneyText(limit, await quantityOf(tx, dq))
  return {
    spender: 'client_id' in party ? party.client_id : party.public_secret,
    limit: `${shown}${period === null ? '' : ` a ${period}`}`,
    ...(expires_at !== null && { until: new Date(expires_at).toISOString() }),
  }
}
