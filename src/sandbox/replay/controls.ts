import { load } from '../../base/parts.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { z } from '../../http/fields/schema.js'
import type { ActingCaller, ActingOrder } from './credentials.js'
import type { Replay, ReplayOrder } from './replay.js'

export const ReplayShape = z.strictObject({
  in: z.enum(['fork', 'place']),
  diff: z.optional(z.boolean()),
  strict: z.optional(z.boolean()),
})

export const ActAsShape = z.strictObject({
  principal: z
    .string()
    .check(z.regex(/^(guest|(account|user|agent):\d+)$/, 'guest, or a caller such as account:1, user:2 or agent:3')),
  by: z.optional(z.enum(['token', 'session'])),
})

/** Repetitions of the requests in the journal. */
export interface ReplayControls {
  /**
   * Sends the request of an entry again, with fresh credentials of the same caller, and compares answers and effects:
   * `await sandbox.requests.replay(id, { in: 'fork' })`. Throws `not_found`, `not_replayable`.
   */
  replay(id: string, order: ReplayOrder): Promise<Replay>
}

/** Credentials of any caller. */
export interface CallerControls {
  /**
   * Makes a credential of a caller, who need not have one that you know:
   * `fetch(url, { headers: (await sandbox.actAs('user:2')).headers })`. The names of callers are those of the journal:
   * `guest`, `account:1`, `user:2`, `agent:3`. It leaves no event. Throws `not_found`.
   */
  actAs(principal: string, options?: Pick<ActingOrder, 'by'>): Promise<ActingCaller>
}

export const callerControls = (service: ServiceContext): CallerControls => ({
  async actAs(principal, options = {}) {
    const given = checkShape(ActAsShape, { ...options, principal })
    return (await load(() => import('./credentials.js'))).actAsCaller(given, service)
  },
})

export function replayControls(service: ServiceContext): ReplayControls {
  return {
    async replay(id, order) {
      const given = checkShape(ReplayShape, order)
      return (await load(() => import('./replay.js'))).replayEntry(id, given, service)
    },
  }
}
