import { issuerOf, scopesSupported } from '../../consent/oidc/issuer.js'
import type { ServiceContext } from '../../http/context.js'

/** Metadata of the interface, or of the MCP server with a path. RFC 9728, section 3.2. */
export function protectedResource({ baseUrl }: Pick<ServiceContext, 'baseUrl'>, path: '' | '/mcp' | `/mcp/${number}`) {
  return {
    resource: baseUrl + path,
    authorization_servers: [issuerOf({ baseUrl })],
    scopes_supported: [...scopesSupported],
    bearer_methods_supported: ['header'],
    resource_name: path === '' ? 'farthing' : 'farthing MCP server',
  }
}
