import type { OutboxRow } from '../../base/message.js'
import { load } from '../../base/parts.js'
import { normalEmail } from '../../base/text/email.js'
import { seconds } from '../../base/time.js'
import {
  type ApprovalRow,
  approvalStatus,
  approvals,
  type ShownApproval,
  showToUser,
} from '../../consent/approvals/approval.js'
import type { SecondFactorAnswer } from '../../consent/second-factor/answer.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { userByEmail } from '../../identity/users/user.js'
import { codesIn, isOfCard, linksIn, outbox } from '../../jobs/outbox/outbox.js'
import { allRows, newestFirst } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { sandboxOf } from '../onion/context.js'
import type { Phone, PhoneRequest, Sandbox } from './sandbox.js'
import { OutboxQueryShape, PhoneAnswerShape, PhoneRequestShape, SignInShape, WaitingShape } from './shapes.js'

type PeopleControls = Pick<Sandbox, 'signIn' | 'phone' | 'approve' | 'reject' | 'outbox' | 'emptyOutbox'>

export function peopleControls(service: ServiceContext): PeopleControls {
  const { storage } = service
  const decide = async (id: string, decision: 'approved' | 'rejected') => {
    const { answerApproval } = await people()
    return storage.write((tx) => answerApproval(tx, { id, decision }, service))
  }
  return {
    async signIn(email) {
      const given = checkShape(SignInShape, typeof email === 'object' ? email : { email })
      const { signInAsUser } = await people()
      return storage.write((tx) => signInAsUser(tx, given, service))
    },
    phone: (userId) => phoneOf(userId, service),
    approve: (id) => decide(id, 'approved'),
    reject: (id) => decide(id, 'rejected'),
    async outbox(query = {}) {
      const given = checkShape(OutboxQueryShape, query)
      return storage.read((tx) => readInbox(tx, given))
    },
    async emptyOutbox() {
      await storage.write(emptyInbox)
    },
  }
}

function phoneOf(userId: number, service: ServiceContext): Phone {
  const { storage } = service
  const answerRequest = async (request: PhoneRequest = {}, answer: SecondFactorAnswer) => {
    const { id } = checkShape(PhoneRequestShape, typeof request === 'object' ? request : { id: request })
    const { answerOnPhone } = await people()
    return storage.write((tx) => answerOnPhone(tx, { userId, id, answer }, service))
  }
  return {
    async answer(answer, { afterSeconds: after_seconds, ...unknown } = {}) {
      const given = { ...(typeof answer === 'object' ? answer : { mode: answer, after_seconds }), ...unknown }
      const { mode, after_seconds: afterSeconds } = checkShape(PhoneAnswerShape, given)
      const { setPhone } = await people()
      return storage.write((tx) => setPhone(tx, { userId, mode, afterSeconds }, service))
    },
    async read() {
      const { readPhone } = await people()
      return storage.read((tx) => readPhone(tx, userId, service))
    },
    approve: (request) => answerRequest(request, 'approved'),
    reject: (request) => answerRequest(request, 'rejected'),
  }
}

const people = () => load(() => import('./people.js'))

export interface NextApproval extends Promise<ShownApproval> {
  /** Approves it as its user when an agent requests it. */
  approve(): Promise<ShownApproval>
  reject(): Promise<ShownApproval>
}

/** Whose approval to wait for, and how long. */
export interface Waiting {
  readonly email?: string | undefined
  /** Seconds of real time. Default: 5. */
  readonly seconds?: number | undefined
}

export interface ApprovalQueue {
  /** Waits for the next approval, or returns one that is waiting: `await sandbox.approvals.next().approve()`. */
  next(waiting?: Waiting): NextApproval
}

type Answers = Pick<Sandbox, 'approve' | 'reject'>

export function approvalQueue(service: ServiceContext, { approve, reject }: Answers): ApprovalQueue {
  const { handedApprovals: handed } = sandboxOf(service)

  async function wait(waiting: Waiting): Promise<ShownApproval> {
    const { email, seconds = 5 } = checkShape(WaitingShape, waiting)
    let late = false
    const cancel = service.alarm.set(seconds * 1000, () => void (late = true))
    try {
      for (;;) {
        const { value: found, changed } = await service.background.watch({ ms: Math.min(seconds * 1000, 250) }, (tx) =>
          waitingFor(tx, { email, handed, at: service.clock.now() }),
        )
        if (found) {
          handed.set(found.id, true)
          return showToUser(found, service)
        }
        if (late) throw new Error(`No agent requested an approval within ${seconds} seconds.`)
        if (!(await changed)) throw new Error('The service was closed.')
      }
    } finally {
      cancel()
    }
  }

  return {
    next(waiting = {}): NextApproval {
      const found = wait(waiting)
      return Object.assign(found, {
        approve: async () => approve((await found).approval_id),
        reject: async () => reject((await found).approval_id),
      })
    },
  }
}

async function waitingFor(
  tx: Reader,
  { email, handed, at }: { email: string | undefined; handed: ReadonlyMap<string, true>; at: number },
): Promise<ApprovalRow | undefined> {
  const user = email === undefined ? undefined : await userByEmail(tx, email)
  if (email !== undefined && !user) return undefined
  for await (const row of allRows(tx, approvals, { index: 'byStatus', prefix: ['pending'] }))
    if (approvalStatus(row, at) === 'pending' && !handed.has(row.id) && (!user || row.user_id === user.id)) return row
  return undefined
}

export interface InboxQuery {
  readonly to?: string | undefined
  readonly kind?: OutboxRow['kind'] | undefined
  readonly limit?: number | undefined
  readonly after?: number | undefined
}

export interface InboxPage {
  messages: InboxMessage[]
  next: number | null
}

/** A message that left the service. */
export interface InboxMessage {
  id: number
  kind: OutboxRow['kind']
  to: string
  subject: string
  text: string
  status: OutboxRow['status']
  codes: string[]
  links: string[]
  data?: Readonly<Record<string, string>>
  created_at: number
}

export async function readInbox(tx: Reader, { to, kind, limit, after }: InboxQuery): Promise<InboxPage> {
  const index = to === undefined ? (kind === undefined ? 'id' : 'byKind') : kind === undefined ? 'byTo' : 'byToAndKind'
  const prefix = [to === undefined ? [] : normalEmail(to), kind ?? []].flat()
  const { rows, next } = await newestFirst(tx, outbox, { index, prefix, limit, after })
  return { messages: rows.map(showMessage), next }
}

export async function emptyInbox(tx: Writer): Promise<void> {
  for await (const row of allRows(tx, outbox, { index: 'id', prefix: [] }))
    if (!isDeadLetter(row)) tx.remove(outbox, row.id)
}

/** Whether the outcome of a charge or refund is unknown, or a webhook is still on its way. */
const isDeadLetter = ({ kind, status }: OutboxRow): boolean =>
  (isOfCard(kind) || kind === 'webhook') && status === 'pending'

function showMessage(row: OutboxRow): InboxMessage {
  const { id, kind, to, subject, text, status, created_at } = row
  const found = { codes: codesIn(row), links: linksIn(row), ...('data' in row && { data: row.data }) }
  return { id, kind, to, subject, text, status, ...found, created_at: seconds(created_at) }
}
