import { Problem, problem, problemOr } from '../../base/problem.js'
import { minuteText } from '../../base/time.js'
import type { ServiceContext, StoreAnswer } from '../../http/context.js'
import { formFlow, Next, type Visit } from '../../http/pages/form-flow.js'
import { findSession, isSignedInByPerson, type SessionRow } from '../../identity/sessions/session.js'
import { emailOf } from '../../identity/users/user.js'
import type { PriceQuote } from '../../money/commodities/commodity.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText, toAmount, toUnits } from '../../money/ledger/amount.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { hasDevice } from '../devices/device.js'
import { appFields, clientById, type ShownApp, shownApp } from '../oidc/clients/client.js'
import { actApproved, findLastRequest, type UserSession } from '../second-factor/await-second-factor.js'
import { requireSecondFactor, spendSecondFactor } from '../second-factor/request.js'
import type { Detail } from '../second-factor/wording.js'
import {
  type FilledSignIn,
  resumePageSignIn,
  type SignInStep,
  signInAnswers,
  signInRefusedAt,
  signInStep,
} from '../sign-in/sign-in-flow.js'
import {
  type ApprovalRow,
  type ApprovalStatus,
  approvalOfUser,
  approvalStatus,
  approvals,
  type CartDetail,
  type ChangeDetail,
  decideApproval,
  type ShownApproval,
  showToUser,
} from './approval.js'
import { approvalPages, approvalSentence } from './approval-page.js'
import { approvedPrice, checkApprovedPrice } from './price-detail.js'
import { isRaised, type NewThresholds, setThresholds } from './settings.js'

/** What an agent wants to do, as the page shows it. `now`: the current values that a change of an account replaces. */
export type AskedApproval = Awaited<ReturnType<typeof describeApproval>>

export type ApprovalStep = { readonly refused?: Problem | undefined } & (
  | SignInStep
  /** Everybody but the user sees this, whether the approval exists or not. */
  | { readonly step: 'nothing'; readonly email: string }
  | { readonly step: 'asked'; readonly asked: AskedApproval }
  /** `by`: where the authentication request went. */
  | { readonly step: 'wait'; readonly asked: AskedApproval; readonly by: 'device' | 'mail' }
  | { readonly step: 'over'; readonly asked: AskedApproval; readonly status: Exclude<ApprovalStatus, 'pending'> }
)

type ApprovalVisit = Visit<{ readonly id: string }>

/** Shows the approval. Approves it if the visitor's second factor was approved since the last visit. */
async function look(tx: Writer, visit: ApprovalVisit, service: ServiceContext): Promise<ApprovalStep> {
  const { id, sessionId, step, refused } = visit
  const now = service.clock.now()
  const session = await findSession(tx, sessionId, now)
  const signIn = await signInStep(tx, visit, now)
  const isSigningIn = signIn.step !== 'email' || step === 'email' || (step === 'device' && refused !== undefined)
  if (!session || isSigningIn) return signIn
  const row = await findOwnApproval(tx, id, session)
  const email = (await emailOf(tx, `user:${session.user_id}`)) ?? ''
  if (!row) return { step: 'nothing', email, refused: problem('not_found') }
  const asked = await describeApproval(tx, row, email)
  const status = approvalStatus(row, now)
  if (status !== 'pending') return { step: 'over', asked, status }
  const result = await readSecondFactor(tx, { row, sessionId }, now)
  if (result === 'approved') {
    await decideApproval(tx, row, { decision: 'approved', at: now })
    return { step: 'over', asked, status: 'approved' }
  }
  if (result === 'device' || result === 'mail') return { step: 'wait', asked, by: result }
  if (step !== 'wait' || !result) return { step: 'asked', asked }
  return { step: 'asked', asked, refused: problem(result === 'rejected' ? 'rejected' : 'approval_timeout') }
}

async function findOwnApproval(tx: Reader, id: string, session: SessionRow): Promise<ApprovalRow | undefined> {
  const row = await tx.get(approvals, id)
  return row?.user_id === session.user_id ? row : undefined
}

async function describeApproval(tx: Reader, row: ApprovalRow, email: string) {
  const { kind, summary, now, expires_at } = row
  const detail: Readonly<Record<string, unknown>> = row.detail
  const price = await approvedPrice(tx, row)
  const quote = price && { price: toAmount(price.amount, price.quantity.decimals), dq: price.quantity.id }
  return { ...{ app: await appOf(tx, row), kind, summary, detail, now, email, quote }, until: minuteText(expires_at) }
}

type ApprovalSession = { readonly row: ApprovalRow; readonly sessionId: string }

const orderOf = async (tx: Reader, { row, sessionId }: ApprovalSession) => ({
  userId: row.user_id,
  action: 'approval',
  detail: await secondFactorDetail(tx, row),
  sessionId,
})

/** The state of this session's last authentication request. Spends an approved one. Returns undefined if there is none. */
async function readSecondFactor(tx: Writer, session: ApprovalSession, at: number) {
  const order = { ...(await orderOf(tx, session)), at }
  const asked = await findLastRequest(tx, order)
  if (!asked) return undefined
  const { request, status } = asked
  if (status === 'pending') return request.link_digest === null ? 'device' : 'mail'
  if (status === 'approved') await spendSecondFactor(tx, { ...order, id: request.id })
  return status
}

async function findDecidable(tx: Reader, { id, sessionId }: ApprovalVisit, at: number) {
  const session = await findSession(tx, sessionId, at)
  if (!session) return problem('sign_in_required')
  const row = await findOwnApproval(tx, id, session)
  if (!row) return problem('not_found')
  return approvalStatus(row, at) === 'pending' ? { session, row } : problem('not_pending')
}

async function reject(tx: Writer, visit: ApprovalVisit, _: object, { clock }: ServiceContext): Promise<Next | Problem> {
  const at = clock.now()
  const found = await findDecidable(tx, visit, at)
  return found instanceof Problem ? found : leadOn(await decideApproval(tx, found.row, { decision: 'rejected', at }))
}

interface FilledApproval extends FilledSignIn, PriceQuote {}

async function approve(tx: Writer, visit: ApprovalVisit, seen: FilledApproval, service: ServiceContext) {
  const at = service.clock.now()
  const { sessionId } = visit
  const found = await findDecidable(tx, visit, at)
  if (found instanceof Problem) return found
  const { session, row } = found
  const changed = await problemOr(checkApprovedPrice(tx, row, seen))
  if (changed instanceof Problem) return changed
  const known = await readSecondFactor(tx, { row, sessionId }, at)
  if (known === 'device' || known === 'mail') return new Next({ step: 'wait' })
  const isShown = known === 'approved' || (await isJustSignedIn(tx, session, at))
  if (isShown) return leadOn(await decideApproval(tx, row, { decision: 'approved', at }))
  const order = { ...(await orderOf(tx, { row, sessionId })), at }
  const asked = await problemOr(requireSecondFactor(tx, order, service))
  return asked instanceof Problem ? asked : new Next({ step: 'wait' })
}

const leadOn = (decided: ApprovalRow | Problem): Next | Problem => (decided instanceof Problem ? decided : new Next())

const CODE_COUNTS_FOR = 5 * 60_000

/** Without a device, the second factor would be a mailed link, and a code that was just mailed already proves as much. */
const isJustSignedIn = async (tx: Reader, session: SessionRow, at: number): Promise<boolean> =>
  isSignedInByPerson(session) && at - session.created_at < CODE_COUNTS_FOR && !(await hasDevice(tx, session.user_id))

export const approvalFlow = formFlow({
  path: '/approvals/:id',
  signedIn: resumePageSignIn,
  look,
  pages: approvalPages,
  sentence: approvalSentence,
  refusedAt: signInRefusedAt,
  answers: { ...signInAnswers, approve, reject },
})

/** With a session it first waits for the second factor. Throws `not_found`, `not_pending`, `price_changed`, and like `awaitSecondFactor`. */
export const approveApproval = (
  service: ServiceContext,
  { id, userId, session, seen }: { id: string; userId: number; session: UserSession | undefined; seen: PriceQuote },
  storeAnswer: StoreAnswer<ShownApproval>,
) =>
  actApproved(service, session, {
    async plan(tx, at) {
      const row = await approvalOfUser(tx, userId, id)
      if (session && approvalStatus(row, at) !== 'pending') throw problem('not_pending')
      await checkApprovedPrice(tx, row, seen)
      return row
    },
    order: async (tx, row) => ({ action: 'approval', detail: await secondFactorDetail(tx, row) }),
    async act(tx, row, at) {
      const decided = await decideApproval(tx, row, { decision: 'approved', at })
      if (decided instanceof Problem) throw decided
      return storeAnswer(tx, showToUser(decided, service))
    },
  })

/** Stores new thresholds. A session that raises one first waits for the second factor. Throws like `setThresholds`, `awaitSecondFactor`. */
export const updateAgentSettings = (
  service: ServiceContext,
  { userId, thresholds, session }: { userId: number; thresholds: NewThresholds; session: UserSession | undefined },
) =>
  actApproved(service, session, {
    plan: (tx) => isRaised(tx, userId, thresholds),
    order: async (tx, needsApproval) =>
      needsApproval ? { action: 'agent_settings', detail: await thresholdDetail(tx, thresholds) } : undefined,
    act: (tx, _, at) => setThresholds(tx, userId, { thresholds, at }),
  })

/** What the second factor shows of an approval: everything that it allows, payee and amount first. */
export const secondFactorDetail = async (tx: Reader, row: ApprovalRow): Promise<Detail> => ({
  ...appFields(await appOf(tx, row)),
  request: row.summary,
  ...describeTerms(row),
  approval: row.id,
})

export async function appOf(tx: Reader, { client_id }: ApprovalRow): Promise<ShownApp> {
  const client = await clientById(tx, client_id)
  return client ? shownApp(client) : { title: client_id, host: null }
}

function describeTerms({ kind, detail }: ApprovalRow): Detail {
  if (kind === 'cart') return describeCart(detail)
  if (kind === 'account_change') return describeChange(detail)
  const { payee, price, amount: _, ...more } = detail
  return { payee, amount: price, ...more }
}

/** Text of sellers comes last in each line, so that it cannot pass for a price or a payee. */
const describeCart = ({ total, lines }: CartDetail): Detail => ({
  payees: [...new Set(lines.map(({ payee }) => payee))].join(', '),
  amount: total,
  ...Object.fromEntries(
    lines.map(({ line, quantity, price, payee, name, arguments: args }) => [
      `line_${line}`,
      `${quantity} at ${price} from ${payee}: ${name} ${JSON.stringify(args)}`,
    ]),
  ),
})

function describeChange({ account, item, new_price, change }: ChangeDetail): Detail {
  const { kind: _, ...fields } = change
  return {
    account: account.name ?? `Account ${account.id}`,
    ...(item && { item: item.name }),
    ...fields,
    ...(new_price !== undefined && { price: new_price }),
  }
}

/** What the second factor shows of thresholds: `1.00 USD`. Throws `dq_unknown`, `amount_invalid`. */
async function thresholdDetail(tx: Reader, thresholds: NewThresholds): Promise<Detail> {
  const prices: string[] = []
  for (const [dq, amount] of Object.entries(thresholds)) {
    const quantity = await quantityOf(tx, dq)
    prices.push(moneyText(toUnits(amount, quantity.decimals), quantity))
  }
  return { without_approval: prices.join(', ') }
}
