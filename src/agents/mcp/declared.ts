import type * as sdk from '@modelcontextprotocol/server'
import { fieldOf, isObject } from '../../storage/unknown.js'
import type { Sdk } from './offer.js'
import { declaresMpp, payingClient } from './tools/paying-client.js'
import type { McpVisit } from './tools/visit.js'

/** What clients declare: with each request from protocol version 2026-07-28 on, and earlier in `initialize` only. */

const capabilitiesIn = ({ CLIENT_CAPABILITIES_META_KEY }: Sdk, { mcpReq }: sdk.ServerContext): unknown =>
  isObject(mcpReq.envelope) ? mcpReq.envelope[CLIENT_CAPABILITIES_META_KEY] : undefined

/** Whether the client opens URLs for its user, and declares it with this request. */
export const leadsToUrls = (loaded: Sdk, context: sdk.ServerContext): boolean =>
  declaresUrls(capabilitiesIn(loaded, context))

/** How the client pays in the call itself. Undefined if it does not say so. */
export async function payingClientOf(loaded: Sdk, visit: McpVisit, context: sdk.ServerContext) {
  const declaredMpp = (await sessionOf(visit)).includes('mpp')
  return payingClient({ ...context.mcpReq._meta }, capabilitiesIn(loaded, context), declaredMpp)
}

/** What a client declares in `initialize`, as far as it matters. Others need no session. */
const declarations = {
  urls: (capabilities: unknown): boolean => fieldOf(fieldOf(capabilities, 'elicitation'), 'url') !== undefined,
  mpp: declaresMpp,
}
type Declaration = keyof typeof declarations

const declaresUrls = declarations.urls
const sealedIn = ({ agent }: Pick<McpVisit, 'agent'>): string => `mcp session:${agent.user_id}:${agent.client_id}`

/**
 * Returns the `Mcp-Session-Id` for a client of 2025-11-25, or undefined if it needs none. The server stores nothing
 * between messages, so the client keeps what it declared, encrypted for its user and app. `params`: of `initialize`.
 */
export async function sessionFor({ agent, service }: McpVisit, params: unknown): Promise<string | undefined> {
  const capabilities = fieldOf(params, 'capabilities')
  const declared = (Object.keys(declarations) as Declaration[]).filter((name) => declarations[name](capabilities))
  return declared.length === 0 ? undefined : service.keys.seal(declared.join(' '), sealedIn({ agent }))
}

/** What the visitor declared, by its session. Nothing if that is of another user or app. */
async function sessionOf({ agent, service, sessionId }: McpVisit): Promise<string[]> {
  const opened = sessionId === null ? undefined : await service.keys.open(sessionId, sealedIn({ agent }))
  return opened?.split(' ') ?? []
}

/** Whether the visitor's session is of a client that opens URLs for its user. */
export const opensUrls = async (visit: McpVisit): Promise<boolean> => (await sessionOf(visit)).includes('urls')
