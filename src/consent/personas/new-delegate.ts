import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { responsibleFor } from '../../identity/users/responsible.js'
import { generationOf } from '../../identity/users/user.js'
import { addDaily, waitOfDaily } from '../../jobs/rates/rate.js'
import type { Writer } from '../../storage/storage.js'
import { type ApprovedSecondFactor, spendAwaited } from '../second-factor/await-second-factor.js'
import { type DelegateRow, delegateHash, delegates, recordDelegateEvent } from './delegate.js'
import { personas } from './persona.js'
import { type NewDelegate, planDelegate, secondFactorOrder } from './second-factor.js'

/** How many delegates one owner gives another in a day. Nobody asks the holder, so nobody fills what others hold. */
const MOST_GIVEN = 100

/** Counts a delegate that one owner gives another. Throws `too_many_new`. */
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

/**
 * Gives a twin a delegate of a persona. Spends the second factor if there is one.
 * Throws like `planDelegate`, and `rejected`, `approval_timeout`, `too_many_new`.
 */
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
