import { isObject } from '../../storage/unknown.js'
import type { McpVisit } from './tools/visit.js'

/**
 * What a client of protocol version 2025-11-25 declared in `initialize`. The server stores nothing between messages, so
 * the client keeps it, encrypted for its user and app, as its `Mcp-Session-Id`.
 */

/** For clients that open URLs for their user. Others need no session. */
const OPENS_URLS = 'opens urls'

const sealedIn = ({ agent }: Pick<McpVisit, 'agent'>): string => `mcp session:${agent.user_id}:${agent.client_id}`

/** Whether declared capabilities say that the client opens URLs for its user. */
export const declaresUrls = (capabilities: unknown): boolean =>
  fieldOf(fieldOf(capabilities, 'elicitation'), 'url') !== undefined

const fieldOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** Returns the `Mcp-Session-Id` for a client, or undefined if it needs none. `params`: of `initialize`. */
export async function sessionFor({ agent, service }: McpVisit, params: unknown): Promise<string | undefined> {
  if (!declaresUrls(fieldOf(params, 'capabilities'))) return undefined
  return service.keys.seal(OPENS_URLS, sealedIn({ agent }))
}

/** Whether the visitor's session belongs to this user and app, and to a client that opens URLs for its user. */
export async function opensUrls({ agent, service, sessionId }: McpVisit): Promise<boolean> {
  if (sessionId === null) return false
  return (await service.keys.open(sessionId, sealedIn({ agent }))) === OPENS_URLS
}
