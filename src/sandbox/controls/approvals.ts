import {
  type ApprovalRow,
  approvalStatus,
  approvals,
  type ShownApproval,
  showToUser,
} from '../../consent/approvals/approval.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { userByEmail } from '../../identity/users/user.js'
import { allRows } from '../../storage/page.js'
import type { Reader } from '../../storage/storage.js'
import { sandboxOf } from '../onion/context.js'
import { WaitingShape } from './shapes.js'

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

interface Answers {
  approve(id: string): Promise<ShownApproval>
  reject(id: string): Promise<ShownApproval>
}

export interface ApprovalQueue {
  /** Waits for the next approval, or returns one that is waiting: `await sandbox.approvals.next().approve()`. */
  next(waiting?: Waiting): NextApproval
}

/** Returns the approvals that agents request, in order and each once. */
export function approvalQueue(service: ServiceContext, { approve, reject }: Answers): ApprovalQueue {
  const { handedApprovals: handed } = sandboxOf(service)

  async function wait(waiting: Waiting): Promise<ShownApproval> {
    const { email, seconds = 5 } = checkShape(WaitingShape, waiting)
    let late = false
    const cancel = service.alarm.set(seconds * 1000, () => {
      late = true
    })
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
