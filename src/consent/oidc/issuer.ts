import type { ServiceContext } from '../../http/context.js'

type Address = Pick<ServiceContext, 'baseUrl'>

/** The issuer of tokens. It follows from the service's base URL, not from a request's `Host`. */
export const issuerOf = ({ baseUrl }: Address): string => `${baseUrl}/v4/oidc`
export const scopesSupported = ['openid', 'profile', 'email', 'twin', 'offline_access'] as const
export type Scope = (typeof scopesSupported)[number]
export const isScope = (text: string): text is Scope => scopesSupported.some((scope) => scope === text)

/** The values of a space-separated list, without duplicates. */
export const splitOnSpaces = (text: string): string[] => [...new Set(text.split(' ').filter((word) => word !== ''))]

/** The audience for a `resource` (RFC 8707): the interface, the issuer, or an MCP server. Undefined for anything else. */
export function audienceOf(resource: string, { baseUrl }: Address): string | undefined {
  const bare = withoutSlash(resource)
  const isKnown = isInterfaceAudience(bare, { baseUrl }) || isMcpAudience(bare, { baseUrl })
  return isKnown ? bare : undefined
}

export function isMcpAudience(resource: string, { baseUrl }: Address): boolean {
  const bare = withoutSlash(resource)
  return bare.startsWith(baseUrl) && /^\/mcp(\/\d{1,15})?$/.test(bare.slice(baseUrl.length))
}

const withoutSlash = (resource: string): string => resource.replace(/\/$/, '')

/** The URL of the metadata (RFC 9728) of an audience. */
export const metadataAddress = (audience: string, { baseUrl }: Address): string =>
  `${baseUrl}/.well-known/oauth-protected-resource${audience.slice(baseUrl.length)}`

export const isInterfaceAudience = (audience: string, { baseUrl }: Address): boolean =>
  [baseUrl, `${baseUrl}/v4`, issuerOf({ baseUrl })].includes(audience)
