import { type Problem, problem } from '../../base/problem.js'
import { canonicalJson, digest, randomHex } from '../../base/secrets.js'
import { isCurrent, seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { recordUserEvent } from '../../identity/users/user.js'
import { setTimer, type TimerJob } from '../../jobs/schedule/timer.js'
import { getOrNotFound, newestFirst } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { currentGrant } from '../oidc/token.js'

const PENDING_FOR = 15 * 60_000
const SPENDABLE_FOR = 60 * 60_000
/** How many approvals a connection may have pending. More would wear the user down. */
const MAX_PENDING = 20
export const APPROVAL_STORED_FOR = 30 * 24 * 60 * 60_000
/** Limit on the JSON of a detail, because people read it. A full cart of fifty lines fits. */
const MAX_CHARACTERS = 32 * 1024

/** Kind of the timer that expires an approval. Its subject is the approval's id. */
export const APPROVAL_EXPIRES = 'approval_expires'
export const approvalStatuses = ['pending', 'approved', 'rejected', 'expired', 'spent'] as const
export type ApprovalStatus = (typeof approvalStatuses)[number]

export interface Agent {
  readonly user_id: number
  readonly client_id: string
  readonly connection_id: number
  /** The business account that the user granted. */
  readonly account_id: number | null
}

/** What an agent wants to do. The user approves exactly this. */
export type ApprovalTerms = {
  /** The current values that a change replaces. Only the user sees them. */
  readonly now?: Readonly<Record<string, unknown>> | undefined
  /** One line for people. */
  readonly summary: string
} & (
  | { readonly kind: 'purchase' | 'paywall' | 'transfer'; readonly detail: PaymentDetail }
  | { readonly kind: 'cart'; readonly detail: CartDetail }
  | { readonly kind: 'account_change'; readonly detail: ChangeDetail }
)

export type ApprovalKind = ApprovalTerms['kind']

/** A price as text for people and as numbers for programs. `amount` is in the digital quantity. */
interface Price {
  readonly price: string
  readonly amount: number
  readonly dq: string
}

/** Plain JSON, with everything that the user approves. */
interface PaymentDetail extends Price {
  readonly payee: string
  readonly [field: string]: unknown
}

export interface CartDetail {
  readonly cart_id: number
  readonly total: string
  readonly lines: readonly CartLineDetail[]
  readonly [field: string]: unknown
}

interface CartLineDetail extends Price {
  readonly line: number
  readonly name: string
  readonly payee: string
  readonly quantity: number
  readonly arguments: unknown
  readonly [field: string]: unknown
}

export interface ChangeDetail {
  readonly account: { readonly id: number; readonly name: string | null }
  readonly item?: { readonly id: number; readonly name: string }
  readonly new_price?: string
  /** The fields of the change. */
  readonly change: { readonly kind: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** What an agent wants to do, and whether its user agreed. `kind`, `detail`, `now` and `summary` never change. */
export type ApprovalRow = ApprovalTerms & Agent & ApprovalState

interface ApprovalState {
  readonly id: string
  /** Ascending number, in the order of the requests. */
  readonly number: number
  /** SHA-256 of the canonical JSON of agent and terms. The approval can be spent for nothing else. */
  readonly binding: string
  /** The stored status. Use `approvalStatus`, which knows when an approval has expired. */
  readonly status: ApprovalStatus
  readonly expires_at: number
  readonly created_at: number
  readonly spent_at: number | null
  /** A refusal offered it, and the agent has not requested it itself. */
  readonly is_offer?: true
}

export const approvals = collection<ApprovalRow>()(
  'approvals',
  {
    byExpiry: { fields: ['expires_at'] },
    byUser: { fields: ['user_id', 'number'] },
    byUserStatus: { fields: ['user_id', 'status', 'number'] },
    byStatus: { fields: ['status', 'number'] },
    byConnection: { fields: ['connection_id', 'status'] },
  },
  {
    refs: { account_id: 'accounts', client_id: 'oidc_clients', connection_id: 'oidc_connections', user_id: 'users' },
    growth: {
      by: 'an agent, by createApproval; and at most 10 more, that a refused call offers',
      most: 20,
      per: 'connection',
      beyond: 'too_many_pending',
    },
    retention: { after: 'the time to answer or spend it is over', keepMs: APPROVAL_STORED_FOR, index: 'byExpiry' },
  },
)

/** Hashes who may do what. The order of fields does not matter. */
export function bindingOf({ user_id, client_id, account_id }: Agent, { kind, detail }: ApprovalTerms): string {
  const account = kind === 'account_change' ? account_id : null
  return digest(canonicalJson({ client: client_id, user: user_id, account, kind, detail }))
}

/** The status of an approval at a time, in Unix milliseconds. */
export function approvalStatus({ status, expires_at }: ApprovalRow, at: number): ApprovalStatus {
  if (status !== 'pending' && status !== 'approved') return status
  return isCurrent(expires_at, status === 'pending' ? PENDING_FOR : SPENDABLE_FOR, at) ? status : 'expired'
}

/** Creates an approval that waits for the agent's user. Throws `field_invalid`, and `too_many_pending` unless it is an offer. */
export async function createPendingApproval(
  tx: Writer,
  agent: Agent,
  terms: ApprovalTerms,
  { random, clock, isOffer = false }: Pick<ServiceContext, 'random' | 'clock'> & { readonly isOffer?: boolean },
): Promise<ApprovalRow> {
  const at = clock.now()
  checkLength(terms)
  if (!isOffer) await checkPending(tx, agent, at)
  const { user_id, client_id, connection_id, account_id } = agent
  const { now, ...asked } = terms
  const row: ApprovalRow = {
    id: `apr_${randomHex(random, 16)}`,
    number: await tx.nextId('approvals'),
    ...{ user_id, client_id, connection_id, account_id },
    ...asked,
    ...(now && { now }),
    binding: bindingOf(agent, terms),
    status: 'pending',
    expires_at: at + PENDING_FOR,
    created_at: at,
    spent_at: null,
    ...(isOffer && { is_offer: true }),
  }
  tx.put(approvals, row)
  await setTimer(tx, { kind: APPROVAL_EXPIRES, subject: row.id, at: row.expires_at, now: at })
  await recordApprovalEvent(tx, row, { act: 'requested', actor: client_id, at })
  return row
}

function checkLength({ detail }: ApprovalTerms): void {
  if (JSON.stringify(detail).length <= MAX_CHARACTERS) return
  throw fieldRefused('detail', `must be at most ${MAX_CHARACTERS} characters of JSON. Request something smaller`)
}

async function checkPending(tx: Reader, { connection_id }: Agent, at: number): Promise<void> {
  const query = { index: 'byConnection', prefix: [connection_id, 'pending'], limit: 4 * MAX_PENDING } as const
  const pending = (await tx.find(approvals, query)).filter(
    (row) => !row.is_offer && approvalStatus(row, at) === 'pending',
  )
  if (pending.length < MAX_PENDING) return
  const first = Math.min(...pending.map(({ expires_at }) => expires_at))
  throw problem('too_many_pending', { headers: { 'retry-after': String(Math.ceil((first - at) / 1000)) } })
}

/** An approval of the agent's connection. Throws `not_found`, also for an approval of a different agent. */
export const approvalOfAgent = (tx: Reader, { connection_id }: Agent, id: string): Promise<ApprovalRow> =>
  getOrNotFound(tx, approvals, id, { connection_id })

/** An approval of the user. Throws `not_found`, also for an approval of a different user. */
export const approvalOfUser = (tx: Reader, userId: number, id: string): Promise<ApprovalRow> =>
  getOrNotFound(tx, approvals, id, { user_id: userId })

/** A user's approvals, newest first. `status` filters them. Throws `cursor_invalid`. */
export async function listApprovals(
  tx: Reader,
  userId: number,
  { status, ...page }: { status?: ApprovalStatus | undefined; limit?: number | undefined; after?: string | undefined },
  context: Pick<ServiceContext, 'baseUrl' | 'clock'>,
) {
  const { rows, next } =
    status === undefined
      ? await newestFirst(tx, approvals, { index: 'byUser', prefix: [userId], ...page })
      : await newestWithStatus(tx, userId, { status, ...page }, context.clock.now())
  return { approvals: rows.map((row) => showToUser(row, context)), next }
}

/** One that has expired is stored as `expired` only later. */
const storedAs = (status: ApprovalStatus): readonly ApprovalStatus[] =>
  status === 'expired' ? ['expired', 'pending', 'approved'] : [status]

type StatusPage = { status: ApprovalStatus; limit?: number | undefined; after?: string | undefined }

/** A page of the approvals that have a status now. Its cursor stays good when the approval that it names changes. */
async function newestWithStatus(tx: Reader, userId: number, { status, limit = 20, after }: StatusPage, at: number) {
  const last = after === undefined ? undefined : await tx.get(approvals, after)
  if (after !== undefined && last?.user_id !== userId) throw problem('cursor_invalid')
  const found: ApprovalRow[] = []
  for (const stored of storedAs(status))
    found.push(...(await newestNow(tx, [userId, stored], { status, limit, last, at })))
  found.sort((a, b) => b.number - a.number)
  return { rows: found.slice(0, limit), next: found.length > limit ? (found[limit - 1]?.id ?? null) : null }
}

interface StatusPlace {
  readonly status: ApprovalStatus
  readonly limit: number
  readonly last: ApprovalRow | undefined
  readonly at: number
}

/** How many rows one read takes. Few have expired and are not stored as that. */
const LOOKED_AT = 200

async function newestNow(
  tx: Reader,
  prefix: readonly [number, ApprovalStatus],
  { status, limit, last, at }: StatusPlace,
) {
  const found: ApprovalRow[] = []
  for (let past = last?.number; ; ) {
    const after = past === undefined ? {} : { after: [...prefix, past] }
    const rows = await tx.find(approvals, {
      ...{ index: 'byUserStatus', prefix, limit: LOOKED_AT, reverse: true },
      ...after,
    })
    found.push(...rows.filter((row) => approvalStatus(row, at) === status))
    past = rows.at(-1)?.number
    if (found.length > limit || rows.length < LOOKED_AT) return found.slice(0, limit + 1)
  }
}

/** Stores the user's final answer. Returns `not_pending` if the approval does not wait for one. */
export async function decideApproval(
  tx: Writer,
  row: ApprovalRow,
  { decision, at }: { decision: 'approved' | 'rejected'; at: number },
): Promise<ApprovalRow | Problem> {
  if (approvalStatus(row, at) !== 'pending') return problem('not_pending')
  const expires_at = decision === 'approved' ? at + SPENDABLE_FOR : row.expires_at
  const decided: ApprovalRow = { ...row, status: decision, expires_at }
  tx.put(approvals, decided)
  if (decision === 'approved') await setTimer(tx, { kind: APPROVAL_EXPIRES, subject: row.id, at: decided.expires_at })
  await recordApprovalEvent(tx, decided, { act: decision, actor: `user:${row.user_id}`, at })
  return decided
}

/** Spends an approval of these terms where they act. Throws `token_invalid`, `not_found`, `approval_mismatch`, like `checkApproved`. */
export async function spendApproval(
  tx: Writer,
  agent: Agent,
  { id, terms, at }: { id: string; terms: ApprovalTerms; at: number },
): Promise<void> {
  const caller = { ...agent, ...(await currentGrant(tx, agent)) }
  const row = await approvalOfAgent(tx, caller, id)
  if (row.binding !== bindingOf(caller, terms)) throw problem('approval_mismatch', { fields: { approval_id: id } })
  checkApproved(row, at)
  const spent: ApprovalRow = { ...row, status: 'spent', spent_at: at }
  tx.put(approvals, spent)
  await recordApprovalEvent(tx, spent, { act: 'spent', actor: row.client_id, at })
}

/** Checks that an approval can be spent. Throws `approval_spent`, `approval_not_given`. */
export function checkApproved(row: ApprovalRow, at: number): void {
  const status = approvalStatus(row, at)
  if (status === 'approved') return
  const fields = { approval_id: row.id, approval_status: status }
  if (status === 'spent') throw problem('approval_spent', { fields })
  throw problem('approval_not_given', { detail: notApproved[status], fields })
}

const notApproved = {
  pending: 'The user has not answered yet. Retry later.',
  rejected: 'The user rejected it.',
  expired: 'The approval has expired. Request a new one.',
} as const

export const expireApproval: TimerJob = async (tx, subject, { clock }) => {
  const at = clock.now()
  const row = await tx.get(approvals, subject)
  // An approved one has a second, later timer.
  if (!row || approvalStatus(row, at) === 'approved') return
  if (row.status === 'pending' || row.status === 'approved') await expire(tx, row, at)
}

/** Expires a connection's pending requests and last approved ones. Timers expire older ones, which nobody can spend without it. */
export async function expireApprovalsOf(tx: Writer, connectionId: number, at: number): Promise<void> {
  for (const status of ['pending', 'approved']) {
    const query = { index: 'byConnection', prefix: [connectionId, status], limit: 4 * MAX_PENDING } as const
    for (const row of await tx.find(approvals, { ...query, reverse: true })) await expire(tx, row, at)
  }
}

async function expire(tx: Writer, row: ApprovalRow, at: number): Promise<void> {
  const expired: ApprovalRow = { ...row, status: 'expired', expires_at: Math.min(row.expires_at, at) }
  tx.put(approvals, expired)
  await recordApprovalEvent(tx, expired, { act: 'expired', actor: 'service', at })
}

export interface ShownApproval {
  approval_id: string
  kind: ApprovalKind
  status: ApprovalStatus
  detail: Record<string, unknown>
  summary: string
  /** The page on which the user answers. */
  url: string
  expires_at: number
  created_at: number
  spent_at: number | null
}

/** An approval as its agent sees it. Times are Unix seconds. */
export function showApproval(
  row: ApprovalRow,
  { baseUrl, clock }: Pick<ServiceContext, 'baseUrl' | 'clock'>,
): ShownApproval {
  const { id, kind, summary, expires_at, created_at, spent_at } = row
  const detail: Record<string, unknown> = row.detail
  return {
    approval_id: id,
    ...{ kind, detail, summary },
    status: approvalStatus(row, clock.now()),
    url: approvalUrl(id, { baseUrl }),
    expires_at: seconds(expires_at),
    created_at: seconds(created_at),
    spent_at: spent_at === null ? null : seconds(spent_at),
  }
}

/** An approval as its user sees it: with the current values that it would replace. */
export function showToUser(row: ApprovalRow, context: Pick<ServiceContext, 'baseUrl' | 'clock'>): ShownApproval {
  const shown = showApproval(row, context)
  return row.now ? { ...shown, detail: { ...row.detail, now: row.now } } : shown
}

export const approvalUrl = (id: string, { baseUrl }: Pick<ServiceContext, 'baseUrl'>): string =>
  `${baseUrl}/approvals/${id}`

const recordApprovalEvent = (
  tx: Writer,
  { id, user_id, client_id, kind, summary }: ApprovalRow,
  { act, actor, at }: { act: Exclude<ApprovalStatus, 'pending'> | 'requested'; actor: string; at: number },
): Promise<void> =>
  recordUserEvent(tx, user_id, {
    ...{ type: `approval.${act}`, actor, subject: `approval:${id}`, at },
    data: { kind, summary, client_id },
  })
