import type { ServiceContext } from '../../http/context.js'

type Address = Pick<ServiceContext, 'baseUrl'>

/** Who the tokens are of: by the service's own option, whatever a request's Host says. */
export const issuerOf = ({ baseUrl }: Address): string => `${baseUrl}/v4/oidc`

export const scopesSupported = ['openid', 'profile', 'email', 'twin', 'offline_access'] as const
export type Scope = (typeof scopesSupported)[number]

export const isScope = (text: string): text is Scope => scopesSupported.some((scope) => scope === text)

/** The words of a space-separated list, each once. */
export const splitOnSpaces = (text: string): string[] => [...new Set(text.split(' ').filter((word) => word !== ''))]

/**
 * The audience that a `resource` (RFC 8707) asks for, or undefined where that is nothing of the service's own:
 * the interface, the issuer, the MCP server or the MCP server of one account.
 */
export function audienceOf(resource: string, { baseUrl }: Address): string | undefined {
  const bare = resource.replace(/\/$/, '')
  if (bare === baseUrl || bare === `${baseUrl}/v4` || bare === issuerOf({ baseUrl })) return bare
  return bare.startsWith(baseUrl) && /^\/mcp(\/\d{1,15})?$/.test(bare.slice(baseUrl.length)) ? bare : undefined
}

/** Where the metadata (RFC 9728) of an audience is, the interface's or an MCP server's. */
export const metadataAddress = (audience: string, { baseUrl }: Address): string =>
  `${baseUrl}/.well-known/oauth-protected-resource${audience.slice(baseUrl.length)}`

/** True of the audiences that the interface itself takes tokens for. */
export const isInterfaceAudience = (audience: string, { baseUrl }: Address): boolean =>
  [baseUrl, `${baseUrl}/v4`, issuerOf({ baseUrl })].includes(audience)
