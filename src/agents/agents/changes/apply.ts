import { canonicalJson } from '../../../base/hash.js'
import { Problem, problem } from '../../../base/problem.js'
import { type Agent, type ApprovalRow, approvalOfAgent, spendApproval } from '../../../consent/approvals/approval.js'
import { currentGrant } from '../../../consent/oidc/agent.js'
import type { ServiceContext } from '../../../http/context.js'
import { type KeepAnswer, keepNothing } from '../../../http/stored-answer.js'
import { twins } from '../../../money/twins/twin.js'
import { collection, type Reader, type Writer } from '../../../storage/storage.js'
import { kindOf, makeSteps, rehearseChange } from './change.js'
import type { AccountChange, Made } from './kind.js'

/** How far an approved change of several transactions is. The id is the approval's. */
export interface AccountChangeRow {
  readonly id: string
  readonly status: 'making' | 'made' | 'broken_off'
  /** How many steps were made. */
  readonly steps: number
  readonly made: Made
  /** Names the service that makes it. */
  readonly instance: string
  /** When that is taken for dead, where several services share a storage. */
  readonly taken_until: number
}

export const accountChanges = collection<AccountChangeRow>()('account_changes', {})

/** Longer than the steps of one take. */
const TAKE = 60_000

export interface AppliedChange {
  approval_id: string
  change: AccountChange
  /** `item` and `commodity`, `twin` and its `name`, or `account` with the fields that the change named. */
  result: Readonly<Record<string, unknown>>
}

/**
 * Makes, once, the change that is stored with an approval (interface.md 4.7 rules 2 to 5). Throws `token_invalid`, `account_not_granted`, `not_found`,
 * `approval_mismatch`, `approval_spent`, `approval_not_given`; `change_impossible` and `change_incomplete`, with `changed: true` where
 * something was made and is kept.
 */
export async function applyAccountChange(
  agent: Agent,
  approvalId: string,
  service: ServiceContext,
  keepAnswer: KeepAnswer<AppliedChange> = keepNothing,
): Promise<AppliedChange> {
  const { ongoing } = service
  const key = `account_change:${approvalId}`
  // One at a time: whoever comes second finds how the first ended.
  while (ongoing.has(key)) await Promise.allSettled([ongoing.get(key)])
  const applying = apply(agent, approvalId, service, keepAnswer).finally(() => ongoing.delete(key))
  ongoing.set(key, applying)
  return applying
}

/** A change that is being made, and how far it is. */
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
  keepAnswer: KeepAnswer<AppliedChange>,
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

/** The first steps, and the end of the approval, in one transaction: where they fail it is as if nothing was tried. */
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
  const progress = keep(tx, { id, status: 'making', steps: first, made }, at, service)
  return { accountId, actor, change, progress }
}

const keep = (
  tx: Writer,
  row: Pick<AccountChangeRow, 'id' | 'status' | 'steps' | 'made'>,
  at: number,
  { instance }: ServiceContext,
): AccountChangeRow => {
  const kept = { ...row, instance, taken_until: at + TAKE }
  tx.put(accountChanges, kept)
  return kept
}

/** A change whose service died between its steps is gone on with, by what was made; nothing is made twice. */
async function takeOver(
  tx: Writer,
  { approval, accountId, at }: { approval: ApprovalRow; accountId: number; at: number },
  service: ServiceContext,
): Promise<AccountChangeRow | undefined> {
  const left = await tx.get(accountChanges, approval.id)
  if (left?.status !== 'making' || accountId !== approval.account_id) return undefined
  // None is being made here, as each waits for the one before.
  const isElsewhere = left.instance !== service.instance && !service.storage.exclusive
  return isElsewhere && left.taken_until > at ? undefined : keep(tx, left, at, service)
}

/** What the user was shown is what it changes. Throws `change_impossible`. */
async function checkUnchanged(
  tx: Reader,
  approval: ApprovalRow,
  work: { accountId: number; change: AccountChange },
): Promise<void> {
  const { now } = await kindOf(work.change).view(tx, work)
  if (canonicalJson(now) === canonicalJson(approval.now ?? {})) return
  throw problem('change_impossible', { detail: 'What it changes is another by now than the user was shown.' })
}

/** What stands in the way of a change that was approved, in the words of what it would change. */
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

/** The steps that are left, each in a transaction of its own. */
async function goOn(
  { accountId, actor, change, progress }: Begun,
  service: ServiceContext,
  keepAnswer: KeepAnswer<AppliedChange>,
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
    // Gone with a state that was put in place of another, or taken over by another service.
    if (known?.status !== 'making' || known.instance !== service.instance) throw problem('approval_spent')
    const at = service.clock.now()
    if (known.steps > n) return known.made
    const work = { accountId, change, made: known.made, actor, at }
    const made = await makeSteps(tx, steps.slice(n, n + 1), work, service)
    keep(tx, { id, status: n + 1 < steps.length ? 'making' : 'made', steps: n + 1, made }, at, service)
    return made
  }
}

/** Notes that it ends here, and gives what its caller is told. Where not even that can be noted, a retry goes on. */
async function breakOff({ progress }: Begun, error: unknown, service: ServiceContext): Promise<unknown> {
  const { storage, log, clock } = service
  if (!(error instanceof Problem)) log.error('an account change broke off', error)
  const ended = storage.write(async (tx) => {
    const known = await tx.get(accountChanges, progress.id)
    if (known?.instance !== service.instance) return {}
    keep(tx, { ...known, status: 'broken_off' }, clock.now(), service)
    const { twin_id } = known.made
    return twin_id === undefined ? {} : { hostname: (await tx.get(twins, twin_id))?.hostname }
  })
  const made = await ended.catch(() => ({}))
  const fields = { changed: true, made }
  const told = impossible(error, fields)
  return told instanceof Problem ? told : problem('change_incomplete', { fields, cause: error })
}
