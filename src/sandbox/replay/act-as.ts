import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { events } from '../../jobs/events/event.js'
import type { Collection, Row, Writer } from '../../storage/storage.js'
import { freshCredentials } from './credentials.js'
import type { EntryCaller } from './entry-caller.js'

/** As whom to call. */
export interface ActingOrder {
  /** `guest`, `account:1`, `user:2`, or `agent:3` for the app of connection 3. */
  readonly principal: string
  /** With what kind of credential. Only users have sessions. Default: `token`. */
  readonly by?: 'token' | 'session' | undefined
}

/** A caller, with headers that identify it. */
export interface ActingCaller {
  readonly principal: string
  readonly headers: Readonly<Record<string, string>>
}

/** Makes a credential of a caller. Nobody called, so it leaves no event. Throws `not_found`. */
export async function actAsCaller({ principal, by }: ActingOrder, service: ServiceContext): Promise<ActingCaller> {
  const caller = callerNamed(principal, by)
  try {
    const headers = await service.storage.write((tx) => freshCredentials(withoutEvents(tx), caller, service))
    return { principal, headers }
  } catch (cause) {
    if (!(cause instanceof Problem) || cause.code !== 'not_replayable') throw cause
    throw problem('not_found', { detail: String(cause.facts.why), cause })
  }
}

function callerNamed(principal: string, by: ActingOrder['by'] = 'token'): EntryCaller {
  const [kind, id] = principal.split(':')
  if (kind === 'guest') return { kind: 'session', userId: null }
  if (by === 'session') {
    if (kind === 'user') return { kind: 'session', userId: Number(id) }
    throw problem('field_invalid', { detail: 'Only users have sessions.', fields: { field: 'by' } })
  }
  return { kind: 'token', of: kind === 'account' || kind === 'agent' ? kind : 'user', id: Number(id) }
}

/** A transaction that writes no events. */
const withoutEvents = (tx: Writer): Writer => ({
  get: (from, id) => tx.get(from, id),
  getMany: (from, ids) => tx.getMany(from, ids),
  find: (from, query) => tx.find(from, query),
  nextId: async (of) => (of === events.name ? 0 : tx.nextId(of)),
  nextIds: (of) => tx.nextIds(of),
  put<R extends Row>(into: Collection<R>, row: R) {
    if (into.name !== events.name) tx.put(into, row)
  },
  remove: (from, id) => tx.remove(from, id),
})
