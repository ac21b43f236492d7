import { digest } from '../../base/secrets.js'
import { grantedAccountId, oidcConnections } from '../../consent/oidc/connection.js'
import { oidcTokens } from '../../consent/oidc/token.js'
import { accounts, memberships } from '../../identity/accounts/account.js'
import { catalogItems } from '../../market/catalog/item-row.js'
import { purchases } from '../../market/purchases/receipt-row.js'
import { commodities } from '../../money/commodities/commodity.js'
import type { ChangeFeed } from './offer.js'
import { CATALOG, listResources, readResource } from './resources.js'
import { offeredTools } from './tools/tools.js'
import type { McpVisit } from './tools/visit.js'

/** Collections that the lists are made from, and those that may end the agent's token, besides `credentialsIn`. */
const WATCHED = [
  ...[catalogItems, commodities, accounts, memberships, oidcConnections, purchases],
  ...[oidcTokens],
].map(({ name }) => name)
/** How often to check without a write here, because a different process may have written. */
const PAUSE_MS = 2000
/** The longest subscription. Subscribing again checks the caller again. */
const LONGEST_MS = 10 * 60_000

interface Seen {
  readonly tools: string
  readonly resources: string
  readonly catalog: string
}

/** Returns digests of what a visitor sees, or undefined if the agent's token has ended. */
const look = ({ agent, ...rest }: McpVisit): Promise<Seen | undefined> =>
  rest.service.storage.read(async (tx) => {
    const connection = await tx.get(oidcConnections, agent.connection_id)
    if (!connection || !(await rest.isAuthenticated(tx))) return undefined
    const visit = { ...rest, agent: { ...agent, account_id: await grantedAccountId(tx, connection) } }
    return {
      tools: digestOf(await offeredTools(tx, visit)),
      resources: digestOf(await listResources(tx, visit, undefined)),
      catalog: digestOf(await readResource(tx, visit, CATALOG)),
    }
  })

const digestOf = (value: unknown): string => digest(JSON.stringify(value))

/** Reads the first state at once, so that no later change is missed. */
export async function watchChanges(visit: McpVisit): Promise<ChangeFeed> {
  const first = await look(visit)
  const { alarm, log } = visit.service
  return (tell, end) => {
    const ended = new AbortController()
    const stop = alarm.set(LONGEST_MS, () => ended.abort())
    follow(visit, { first, tell, signal: ended.signal })
      .catch((error: unknown) => log.error('cannot watch for changes', error))
      .finally(() => {
        stop()
        end()
      })
    return () => ended.abort()
  }
}

interface Following {
  readonly first: Seen | undefined
  readonly tell: Parameters<ChangeFeed>[0]
  readonly signal: AbortSignal
}

async function follow(visit: McpVisit, { first, tell, signal }: Following): Promise<void> {
  const { background, credentialsIn } = visit.service
  let seen = first
  while (seen) {
    // Starts before reading, so that a write during the read is not missed.
    const written = background.nextWrite([...WATCHED, ...credentialsIn], PAUSE_MS, signal)
    const now = await look(visit)
    if (!now) return
    if (now.tools !== seen.tools) tell({ kind: 'tools_list_changed' })
    if (now.resources !== seen.resources) tell({ kind: 'resources_list_changed' })
    if (now.catalog !== seen.catalog) tell({ kind: 'resource_updated', uri: CATALOG })
    seen = now
    if (!(await written)) return
  }
}
