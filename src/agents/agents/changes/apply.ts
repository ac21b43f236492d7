import { canonicalJson } from '../../../base/hash.js'
import { Problem, problem } from '../../../base/problem.js'
import { type Agent, type ApprovalRow, approvalOfAgent, spendApproval } from '../../../consent/approvals/approval.js'
import { currentGrant } from '../../../consent/oidc/agent.js'
import type { ServiceContext } from '../../../http/context.js'
import { type StoreAnswer, storeNothing } from '../../../http/stored-answer.js'
import { twins } from '../../../money/twins/twin.js'
import { collection, type Reader, type Writer } from '../../../storage/storage.js'
import { kindOf, makeSteps, rehearseChange } from './change.js'
import type { AccountChange, Made } from './kind.js'

/** Progress of an approved change that takes several transactions. The id is the approval's. */
export interface AccountChangeRow {
  readonly id: string
  readonly status: 'making' | 'made' | 'broken_off'
  /** How many steps are done. */
  readonly steps: number
  readonly made: Made
  /** Instance of the service that applies it. */
  readonly instance: string
  /** When a different process may continue it, if several share a storage. */
  readonly taken_until: number
}

export const accountChanges = collection<AccountChangeRow>()('account_changes', {})

/** Longer than the steps between two writes take. */
const TAKE = 60_000

export interface AppliedChange {
  approval_id: string
  change: AccountChange
  /** `item` and `commodity`, `twin` and its `name`, or `account` with the changed fields. */
  result: Readonly<Record<string, unknown>>
}

/**
 * Applies the change that is stored with an approval, once. Micro Payment Service Interface, section 4.7.
 * Throws `token_invalid`, `account_not_granted`, `not_found`, `approval_mismatch`, `approval_spent`,
 * `approval_not_given`, and `change_impossible` or `change_incomplete`, with `changed: true` if something was changed
 * and stays.
 */
export async function applyAccountChange(
  agent: Agent,
  approvalId: string,
  service: ServiceContext,
  keepAnswer: StoreAnswer<AppliedChange> = storeNothing,
): Promise<AppliedChange> {
  const { ongoing } = service
  const key = `account_change:${approvalId}`
  // One at a time: a second call finds how the first ended.
  while (ongoing.has(key)) await Promise.allSettled([ongoing.get(key)])
  const applying = apply(agent, approvalId, service, keepAnswer).finally(() => ongoing.delete(key))
  ongoing.set(key, applying)
  return applying
}

/** A change that is being applied, with its progress. */
interface Begun {
  readonly accountId: number
  readonly actor: string
  readonly change: AccountChange
  readonly progress: AccountChangeRow
}

async function apply(
  agent: Agent,
  id: string,
  service: ServiceContext,
  keepAnswer: StoreAnswer<AppliedChange>,
): Promise<AppliedChange> {
  const begun = await service.storage.write(async (tx) => {
    const first = await begin(tx, agent, id, service)
    if ('result' in first) await keepAnswer(tx, first)
    return first
  })
  if ('result' in begun) return begun
  try {
    return await goOn(begun, service, keepAnswer)
  } catch (error) {
    throw await breakOff(begun, error, service)
  }
}

/** Spends the approval and runs the first steps in one transaction, so that a failure leaves nothing behind. */
async function begin(tx: Writer, agent: Agent, id: string, service: ServiceContext): Promise<Begun | AppliedChange> {
  const { account_id: accountId } = await currentGrant(tx, agent)
  if (accountId === null) throw problem('account_not_granted')
  const approval = await approvalOfAgent(tx, agent, id)
  if (approval.kind !== 'account_change') throw problem('approval_mismatch', { fields: { approval_id: id } })
  const { change } = approval.detail
  const left = await takeOver(tx, { approval, accountId, at: service.clock.now() }, service)
  const { client_id: actor } = agent
  if (left) return { accountId, actor, change, progress: left }
  const at = service.clock.now()
  await spendApproval(tx, agent, { id, terms: approval, at })
  const { steps, isWhole, result } = kindOf(change)
  const first = isWhole ? steps.length : 1
  const work = { accountId, change, actor, at }
  const made = await possible(async () => {
    await checkUnchanged(tx, approval, { accountId, change })
    const made = await makeSteps(tx, steps.slice(0, first), { ...work, made: {} }, service)
    await rehearseChange(tx, steps.slice(first), { ...work, made }, service)
    return made
  })
  if (isWhole) return { approval_id: id, change, result: await result(tx, { ...work, made }) }
  const progress = storeProgress(tx, { id, status: 'making', steps: first, made }, at, service)
  return { accountId, actor, change, progress }
}

const storeProgress = (
  tx: Writer,
  row: Pick<AccountChangeRow, 'id' | 'status' | 'steps' | 'made'>,
  at: number,
  { instance }: ServiceContext,
): AccountChangeRow => {
  const kept = { ...row, instance, taken_until: at + TAKE }
  tx.put(accountChanges, kept)
  return kept
}

/** Continues a change whose process ended between two steps. No step runs twice. */
async function takeOver(
  tx: Writer,
  { approval, accountId, at }: { approval: ApprovalRow; accountId: number; at: number },
  service: ServiceContext,
): Promise<AccountChangeRow | undefined> {
  const left = await tx.get(accountChanges, approval.id)
  if (left?.status !== 'making' || accountId !== approval.account_id) return undefined
  // No call of this process applies it, because each waits for the one before.
  const isElsewhere = left.instance !== service.instance && !service.storage.exclusive
  return isElsewhere && left.taken_until > at ? undefined : storeProgress(tx, left, at, service)
}

/** Throws `change_impossible` if the current values are not those that the user saw. */
async function checkUnchanged(
  tx: Reader,
  approval: ApprovalRow,
  work: { accountId: number; change: AccountChange },
): Promise<void> {
  const { now } = await kindOf(work.change).view(tx, work)
  if (canonicalJson(now) === canonicalJson(approval.now ?? {})) return
  throw problem('change_impossible', {
    detail: 'The current values differ from those that the user saw. Request a new approval.',
  })
}

/** Turns a refusal of an approved change into `change_impossible`. */
async function possible<T>(make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    throw impossible(error, {})
  }
}

function impossible(error: unknown, fields: Record<string, unknown>): unknown {
  if (!(error instanceof Problem) || error.status >= 500) return error
  const isOurs = error.code === 'change_impossible'
  if (isOurs && Object.keys(fields).length === 0) return error
  return problem('change_impossible', {
    detail: error.message,
    fields: { ...error.fields, reason: error.code, ...fields },
    cause: error,
  })
}

/** Runs the remaining steps, each in its own transaction. */
async function goOn(
  { accountId, actor, change, progress }: Begun,
  service: ServiceContext,
  keepAnswer: StoreAnswer<AppliedChange>,
): Promise<AppliedChange> {
  const { steps, result } = kindOf(change)
  const { id } = progress
  for (let n = progress.steps; n < steps.length - 1; n++) await service.storage.write((tx) => one(tx, n))
  return service.storage.write(async (tx) => {
    const made = await one(tx, steps.length - 1)
    const applied = { approval_id: id, change, result: await result(tx, { accountId, change, made }) }
    await keepAnswer(tx, applied)
    return applied
  })

  async function one(tx: Writer, n: number): Promise<Made> {
    const known = await tx.get(accountChanges, id)
    // The state was replaced, or a different process has taken over.
    if (known?.status !== 'making' || known.instance !== service.instance) throw problem('approval_spent')
    const at = service.clock.now()
    if (known.steps > n) return known.made
    const work = { accountId, change, made: known.made, actor, at }
    const made = await makeSteps(tx, steps.slice(n, n + 1), work, service)
    storeProgress(tx, { id, status: n + 1 < steps.length ? 'making' : 'made', steps: n + 1, made }, at, service)
    return made
  }
}

/**
 * Records that the change ends here, and returns the problem for the caller. If that fails, a retry continues the
 * change.
 */
async function breakOff({ progress }: Begun, error: unknown, service: ServiceContext): Promise<unknown> {
  const { storage, log, clock } = service
  if (!(error instanceof Problem)) log.error('an account change failed', error)
  const ended = storage.write(async (tx) => {
    const known = await tx.get(accountChanges, progress.id)
    if (known?.instance !== service.instance) return {}
    storeProgress(tx, { ...known, status: 'broken_off' }, clock.now(), service)
    const { twin_id } = known.made
    return twin_id === undefined ? {} : { hostname: (await tx.get(twins, twin_id))?.hostname }
  })
  const made = await ended.catch(() => ({}))
  const fields = { changed: true, made }
  const told = impossible(error, fields)
  return told instanceof Problem ? told : problem('change_incomplete', { fields, cause: error })
}
