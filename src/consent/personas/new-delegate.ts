import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext, StoreAnswer } from '../../http/context.js'
import { generationOf, responsibleFor } from '../../identity/users/user.js'
import { addDaily, waitOfDaily } from '../../jobs/rates/rate.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText } from '../../money/ledger/amount.js'
import { twinByHostname } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { actApproved, type UserSession } from '../second-factor/await-second-factor.js'
import * as delegate from './delegate.js'
import { ownPersona, personas } from './persona.js'

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

interface NewDelegate {
  readonly persona: string
  readonly owner: Owner
  /** The twin that receives it. */
  readonly hostname: string
  readonly name?: string | null | undefined
  readonly email?: string | null | undefined
  readonly spend?: delegate.NewSpendingAuthority | null | undefined
  /** Undefined for a token, which needs no second factor. */
  readonly session: UserSession | undefined
}

/**
 * Gives a twin a delegate. A session first waits for the second factor of one that lets others spend. Throws `not_found`,
 * `not_owner`, `too_many_new`, and like `checkSpendingAuthority` and `awaitSecondFactor`.
 */
export const createDelegate = (
  order: NewDelegate,
  service: ServiceContext,
  storeAnswer: StoreAnswer<Awaited<ReturnType<typeof giveDelegate>>>,
) =>
  actApproved(service, order.session, {
    plan: (tx, at) => planDelegate(tx, order, at),
    order: async (tx, { persona, twin, spend }) =>
      spend && {
        action: 'delegate',
        detail: { persona: persona.name, given_to: twin.hostname, ...(await authorityDetail(tx, spend)) },
      },
    act: async (tx, plan, at) => storeAnswer(tx, await giveDelegate(tx, { ...order, ...plan, at }, service)),
  })

async function planDelegate(tx: Reader, order: NewDelegate, at: number) {
  const persona = await ownPersona(tx, order.owner, order.persona)
  const twin = await twinByHostname(tx, order.hostname)
  if (!twin) throw problem('not_found', { detail: 'No twin has this hostname.' })
  return { persona, twin, spend: order.spend ? await delegate.checkSpendingAuthority(tx, order.spend, at) : undefined }
}

type Plan = Awaited<ReturnType<typeof planDelegate>>
type Given = Plan & Pick<NewDelegate, 'owner' | 'name' | 'email'> & { readonly at: number }

async function giveDelegate(tx: Writer, { owner, persona, twin, at, ...given }: Given, service: ServiceContext) {
  const { name = null, email, spend = null } = given
  await service.rules.countNew(tx, delegate.delegates.name, { owner }, service)
  await countGiven(tx, { from: owner, to: twin.owner, at })
  const salt = randomHex(service.random, 16)
  const identity = { persona: persona.id, issue: persona.issued + 1, salt, spend, created_at: at }
  const row: delegate.DelegateRow = {
    id: delegate.delegateHash(identity, twin),
    number: await tx.nextId('delegates'),
    ...identity,
    persona_owner: persona.owner,
    generation: await generationOf(tx, persona.owner),
    twin_id: twin.id,
    hostname: twin.hostname,
    name,
    email: email ? normalEmail(email) : null,
    revoked_at: null,
  }
  tx.put(personas, { ...persona, issued: row.issue })
  tx.put(delegate.delegates, row)
  await delegate.recordDelegateEvent(tx, 'delegate.created', row, twin, at)
  return { hash: row.id, persona: row.persona, hostname: row.hostname, issue: row.issue, created_at: seconds(at) }
}

async function authorityDetail(tx: Reader, { party, dq, limit, period, expires_at }: delegate.SpendingAuthority) {
  const shown = moneyText(limit, await quantityOf(tx, dq))
  return {
    spender: 'client_id' in party ? party.client_id : party.public_secret,
    limit: `${shown}${period === null ? '' : ` a ${period}`}`,
    ...(expires_at !== null && { until: new Date(expires_at).toISOString() }),
  }
}
