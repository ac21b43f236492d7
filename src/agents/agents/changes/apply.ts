import { Problem, problem } from '../../../base/problem.js'
import type { ProblemFields } from '../../../base/problem-fields.js'
import { canonicalJson } from '../../../base/secrets.js'
import { type Agent, type ApprovalRow, approvalOfAgent, spendApproval } from '../../../consent/approvals/approval.js'
import { currentGrant } from '../../../consent/oidc/token.js'
import { type ServiceContext, type StoreAnswer, storeNothing } from '../../../http/context.js'
import { type FlowRun, runFlow } from '../../../jobs/flows/flow.js'
import { twins } from '../../../money/twins/twin.js'
import { isHeld } from '../../../storage/claim.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { type AccountChangeRow, accountChanges } from './account-row.js'
import { type AccountChange, kindOf, type Made, makeSteps, rehearseChange } from './change.js'

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
  id: string,
  service: ServiceContext,
  storeAnswer: StoreAnswer<AppliedChange> = storeNothing,
): Promise<AppliedChange> {
  return runFlow('account change', service, async (run) => {
    const begun = await run.transaction(
      'begin',
      async (tx) => {
        const first = await begin(tx, { agent, id, run }, service)
        return 'result' in first ? storeAnswer(tx, first) : first
      },
      (tx, _, error) => breakOff(tx, { id, run, error }, service),
    )
    if ('result' in begun) return begun
    return run.transaction('finish', async (tx) => storeAnswer(tx, await finish(tx, begun, service)))
  })
}

interface Begun {
  readonly id: string
  readonly run: FlowRun
  readonly accountId: number
  readonly actor: string
  readonly change: AccountChange
}

/** Spends the approval and makes the first step, or all steps, so that a failure leaves nothing behind. */
async function begin(
  tx: Writer,
  { agent, id, run }: Pick<Begun, 'id' | 'run'> & { readonly agent: Agent },
  service: ServiceContext,
): Promise<Begun | AppliedChange> {
  const { account_id: accountId } = await currentGrant(tx, agent)
  if (accountId === null) throw problem('account_not_granted')
  const approval = await approvalOfAgent(tx, agent, id)
  if (approval.kind !== 'account_change') throw problem('approval_mismatch', { fields: { approval_id: id } })
  const { change } = approval.detail
  const at = service.clock.now()
  const begun = { id, run, accountId, actor: agent.client_id, change }
  const left = accountId === approval.account_id ? await abandonedChange(tx, id, service) : undefined
  if (left) {
    storeProgress(tx, left, { run, at })
    return begun
  }
  await spendApproval(tx, agent, { id, terms: approval, at })
  const { steps, isWhole } = kindOf(change)
  const first = isWhole ? steps.length : 1
  const made = await possible(async () => {
    await checkUnchanged(tx, approval, begun)
    const made = await makeSteps(tx, steps.slice(0, first), { ...begun, made: {}, at }, service)
    await rehearseChange(tx, steps.slice(first), { ...begun, made, at }, service)
    return made
  })
  if (isWhole) return applied(tx, begun, made, service)
  storeProgress(tx, { id, status: 'making', steps: first, made }, { run, at })
  return begun
}

type Progress = Pick<AccountChangeRow, 'id' | 'status' | 'steps' | 'made'>

const storeProgress = (tx: Writer, row: Progress, { run, at }: { run: FlowRun; at: number }): void =>
  tx.put(accountChanges, { ...row, claim: run.token, last_step_at: at })

/** Returns a change whose process ended after the first step. It is continued, and no step is made twice. */
async function abandonedChange(tx: Reader, id: string, service: ServiceContext): Promise<AccountChangeRow | undefined> {
  const left = await tx.get(accountChanges, id)
  return left?.status === 'making' && !(await isHeld(tx, left.claim, service)) ? left : undefined
}

async function finish(tx: Writer, begun: Begun, service: ServiceContext): Promise<AppliedChange> {
  const { id, run, change } = begun
  const known = await tx.get(accountChanges, id)
  // The state was replaced, or a different process has taken over.
  if (known?.status !== 'making' || known.claim !== run.token) throw problem('approval_spent')
  const { steps } = kindOf(change)
  const at = service.clock.now()
  const made = await makeSteps(tx, steps.slice(known.steps), { ...begun, made: known.made, at }, service)
  storeProgress(tx, { id, status: 'made', steps: steps.length, made }, { run, at })
  return applied(tx, begun, made, service)
}

const applied = async (tx: Reader, { id, accountId, change }: Begun, made: Made, service: ServiceContext) => ({
  approval_id: id,
  change,
  result: await kindOf(change).result(tx, { accountId, change, made }, service),
})

/** Records that the change ends here. Returns the problem for the caller. If that fails, a retry continues it. */
async function breakOff(
  tx: Writer,
  { id, run, error }: Pick<Begun, 'id' | 'run'> & { readonly error: unknown },
  { clock }: ServiceContext,
): Promise<Problem | undefined> {
  const known = await tx.get(accountChanges, id)
  // The last write landed, although nobody knew.
  if (known?.status === 'made') return undefined
  const isOurs = known?.claim === run.token
  const made = isOurs ? known.made : {}
  if (isOurs) storeProgress(tx, { ...known, status: 'broken_off' }, { run, at: clock.now() })
  const hostname = made.twin_id === undefined ? undefined : (await tx.get(twins, made.twin_id))?.hostname
  const fields = { changed: true, made: { ...(hostname !== undefined && { hostname }) } }
  const told = impossible(error, fields)
  return told instanceof Problem ? told : problem('change_incomplete', { fields, cause: error })
}

async function checkUnchanged(tx: Reader, approval: ApprovalRow, work: { accountId: number; change: AccountChange }) {
  const { now } = await kindOf(work.change).view(tx, work)
  if (canonicalJson(now) === canonicalJson(approval.now ?? {})) return
  throw problem('change_impossible', {
    detail: 'The current values differ from those that the user saw. Request a new approval.',
  })
}

async function possible<T>(make: () => Promise<T>): Promise<T> {
  return make().catch((error: unknown) => Promise.reject(impossible(error, {})))
}

function impossible(error: unknown, fields: ProblemFields): unknown {
  if (!(error instanceof Problem) || error.status >= 500) return error
  const isOurs = error.code === 'change_impossible'
  if (isOurs && Object.keys(fields).length === 0) return error
  return problem('change_impossible', {
    detail: error.message,
    fields: { ...error.fields, reason: error.code, ...fields },
    cause: error,
  })
}
