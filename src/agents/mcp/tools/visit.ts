import { isLoopbackOrigin } from '../../../base/loopback.js'
import { problem } from '../../../base/problem.js'
import { parsedUrl } from '../../../base/text/foreign-url.js'
import { clientById } from '../../../consent/oidc/clients/client.js'
import type { ServiceContext } from '../../../http/context.js'
import { accountOf } from '../../../identity/accounts/account.js'
import type { Reader } from '../../../storage/storage.js'
import type { CallingAgent } from '../../agents/request.js'

export interface McpVisit {
  readonly agent: CallingAgent
  /** The account whose own server it is. Undefined: the master server. */
  readonly within: number | undefined
  readonly hops: number
  /** The `Mcp-Session-Id` that the client sent. */
  readonly sessionId: string | null
  readonly service: ServiceContext
  /** Whether the agent's token is still valid. Checked again by requests that wait. */
  readonly isAuthenticated: (tx: Reader) => Promise<boolean>
}

/** The Origin header: the page of a browser that calls. */
type McpVisitor = Pick<McpVisit, 'agent' | 'within'> & { readonly origin: string | null }

/** Throws `not_found` for the server of an unknown account, and `origin_refused`. */
export async function checkVisitor(tx: Reader, { agent, within, origin }: McpVisitor, baseUrl: string): Promise<void> {
  if (within !== undefined) await accountOf(tx, within)
  if (origin !== null && !(await isKnown(tx, origin, agent, baseUrl))) throw originRefused()
}

/**
 * Whether a page of this origin may call: one of the service, one of this machine if the service runs on it too, or one
 * of the app, by its redirect URIs. The requested address proves nothing, because a foreign name may resolve to the
 * service (DNS rebinding).
 */
async function isKnown(tx: Reader, origin: string, { client_id }: CallingAgent, baseUrl: string): Promise<boolean> {
  const own = new URL(baseUrl)
  if (origin === own.origin || (isLoopbackOrigin(own.origin) && isLoopbackOrigin(origin))) return true
  const client = await clientById(tx, client_id)
  return client?.metadata.redirect_uris.some((uri) => originOf(uri) === origin) ?? false
}

const originRefused = () =>
  problem('origin_refused', {
    detail: 'An app may only call from the origins of its redirect URIs. Register a redirect URI of this page.',
  })

const originOf = (url: string): string | undefined => parsedUrl(url)?.origin
