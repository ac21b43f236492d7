import { isLoopbackOrigin } from '../../../base/loopback.js'
import { problem } from '../../../base/problem.js'
import { oidcClients } from '../../../consent/oidc/clients/client.js'
import type { ServiceContext } from '../../../http/context.js'
import { accountOf } from '../../../identity/accounts/account.js'
import type { Reader } from '../../../storage/storage.js'
import type { CallingAgent } from '../../agents/request.js'

/** An agent at an MCP server, for one request. */
export interface McpVisit {
  readonly agent: CallingAgent
  /** The account whose own server it is; undefined at the master server. */
  readonly within: number | undefined
  /** Of the request, as `hopsIn` counts them. */
  readonly hops: number
  readonly service: ServiceContext
  /** Whether the agent's token still counts: asked again where a request waits or goes on. */
  readonly isAuthenticated: (tx: Reader) => Promise<boolean>
}

/** Who asks to be let in. */
export interface McpVisitor {
  readonly agent: CallingAgent
  readonly within: number | undefined
  /** The Origin header: that of the page which asks, in a browser. */
  readonly origin: string | null
}

/** Throws `not_found` for the server of an account that there is not, `origin_refused`. */
export async function checkVisitor(tx: Reader, { agent, within, origin }: McpVisitor, baseUrl: string): Promise<void> {
  if (within !== undefined) await accountOf(tx, within)
  if (origin !== null && !(await isKnown(tx, origin, agent, baseUrl))) throw originRefused()
}

/**
 * Whether a page of that origin is one that may call: of the service itself; of this machine, where the service runs on it too;
 * or of the app that the token was issued to, by its redirect URIs. The address that was called proves nothing: a name of
 * someone else's may stand for the service (DNS rebinding).
 */
async function isKnown(tx: Reader, origin: string, { client_id }: CallingAgent, baseUrl: string): Promise<boolean> {
  const own = new URL(baseUrl)
  if (origin === own.origin || (isLoopbackOrigin(own.origin) && isLoopbackOrigin(origin))) return true
  const client = await tx.get(oidcClients, client_id)
  return client?.metadata.redirect_uris.some((uri) => originOf(uri) === origin) ?? false
}

const originRefused = () =>
  problem('origin_refused', {
    detail: 'An app calls from the origins of its redirect URIs: register that of this page.',
  })

const originOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined)
