import { digest } from '../../base/secrets.js'
import type { SharedPlaces } from '../../base/shared-places.js'
import { findConnection, grantedAccountId } from '../../consent/oidc/connection.js'
import type { Watched } from '../../http/context.js'
import { LONGEST_STREAM_MS, takeStream } from '../../jobs/events/streams.js'
import { ReadOnce } from '../../storage/page.js'
import type { Reader } from '../../storage/storage.js'
import type { ChangeFeed } from './offer.js'
import { CATALOG, listResources, readResource } from './resources.js'
import { offeredTools } from './tools/tools.js'
import type { McpVisit } from './tools/visit.js'

/** How often to check without a write here, because a different process may have written. */
const PAUSE_MS = 2000
/** The same, where no other process writes. */
const LONG_PAUSE_MS = 15_000
type OwnLists = { readonly tools: string; readonly resources: string }

async function lookAtOwn(tx: Reader, { agent, ...rest }: McpVisit): Promise<OwnLists | undefined> {
  const read = new ReadOnce(tx)
  const connection = await findConnection(read, agent.connection_id)
  if (!connection || !(await rest.isAuthenticated(read))) return undefined
  const visit = { ...rest, agent: { ...agent, account_id: await grantedAccountId(read, connection) } }
  return {
    tools: digestOf(await offeredTools(tx, visit)),
    resources: digestOf(await listResources(tx, visit, undefined)),
  }
}

const digestOf = (value: unknown): string => digest(JSON.stringify(value))
const pauseOf = ({ service }: McpVisit): number => (service.storage.exclusive ? LONG_PAUSE_MS : PAUSE_MS)

/** The catalog of each server, as long as it is watched, by the streams of its process. */
const catalogs = new WeakMap<SharedPlaces, Map<number | undefined, Promise<Watched<string>>>>()

/** A digest of the catalog of a server. All its visitors see the same, so it is read once for all of them. */
function lookAtCatalog(visit: McpVisit): Promise<Watched<string>> {
  const { within, service } = visit
  const known = catalogs.get(service.intake.streams) ?? new Map<number | undefined, Promise<Watched<string>>>()
  catalogs.set(service.intake.streams, known)
  const looked = known.get(within)
  if (looked) return looked
  const forget = () => known.delete(within)
  const looking = service.background.watch({ ms: pauseOf(visit) }, async (tx) =>
    digestOf(await readResource(tx, visit, CATALOG)),
  )
  known.set(within, looking)
  looking.then(({ changed }) => changed.then(forget), forget)
  return looking
}

/** Reads the first state at once, so that no later change is missed. Throws `too_many_streams`. */
export async function watchChanges(visit: McpVisit): Promise<ChangeFeed> {
  const { alarm, log } = visit.service
  const leave = await takeStream(visit.agent.owner, visit.service)
  const ended = new AbortController()
  const first = await look(visit, ended.signal).catch((cause: unknown) => {
    ended.abort()
    leave()
    throw cause
  })
  return (tell, end) => {
    const stop = alarm.set(LONGEST_STREAM_MS, () => ended.abort())
    follow(visit, { first, tell, signal: ended.signal })
      .catch((error: unknown) => log.error('cannot watch for changes', error))
      .finally(() => {
        ended.abort()
        stop()
        leave()
        end()
      })
    return () => ended.abort()
  }
}

type Seen = { readonly own: Watched<OwnLists | undefined>; readonly catalog: Watched<string> }

const lookOwn = (visit: McpVisit, ending: AbortSignal): Promise<Seen['own']> =>
  visit.service.background.watch({ ms: pauseOf(visit), ending }, (tx) => lookAtOwn(tx, visit))

const look = async (visit: McpVisit, ending: AbortSignal): Promise<Seen> => ({
  own: await lookOwn(visit, ending),
  catalog: await lookAtCatalog(visit),
})

type Following = { readonly first: Seen; readonly tell: Parameters<ChangeFeed>[0]; readonly signal: AbortSignal }

async function follow(visit: McpVisit, { first, tell, signal }: Following): Promise<void> {
  let { own, catalog } = first
  while (own.value) {
    const isOwn = await Promise.race([own.changed.then(() => true), catalog.changed.then(() => false)])
    if (signal.aborted) return
    if (isOwn) {
      if (!(await own.changed)) return
      const { tools, resources } = own.value
      own = await lookOwn(visit, signal)
      if (own.value && own.value.tools !== tools) tell({ kind: 'tools_list_changed' })
      if (own.value && own.value.resources !== resources) tell({ kind: 'resources_list_changed' })
    } else {
      if (!(await catalog.changed)) return
      const before = catalog.value
      catalog = await lookAtCatalog(visit)
      if (catalog.value !== before) tell({ kind: 'resource_updated', uri: CATALOG })
    }
  }
}
