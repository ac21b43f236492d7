import type { TextsOf } from '../../http/openapi/texts.js'
import type { bazaarRoutes } from './routes.js'

export const bazaarTexts: TextsOf<typeof bazaarRoutes> = {
  operations: {
    listX402Resources:
      'Anybody may call this. A resource is listed when a payment settles that has the extension `bazaar`, for 30 days, and only if its `info` matches its `schema`. Resources of shops come first, the latest paid first. Then come items of the catalog that are active and public.',
    searchX402Resources: 'Anybody may call this. All words must occur.',
  },
  fields: {
    x402Version: 'The version of x402.',
    items: 'The resources on this page.',
    resources: 'The resources on this page.',
    pagination: 'Where the page stands among all that match.',
    total: 'How many match.',
    partialResults: 'Whether more match than can be read.',
    cursor: 'In a query: that of the page before. In an answer: that of the next page, or null on the last.',
    asset: 'The address of the token.',
    maxTimeoutSeconds: 'How long a payment may take.',
    extra: "The token's name and version, which a payer signs.",
    query: 'Beginnings of words that must all occur.',
    type: '`http` or `mcp`.',
    payTo: 'The address of the payee.',
    scheme: 'The scheme, such as `exact`.',
    network: 'The network, as CAIP-2 writes it.',
    extensions: 'The name of an extension that the resource has.',
    limit: 'How many at most. Default: 20.',
    offset: 'How many to skip. Default: 0.',
  },
  components: {
    DiscoveredResource: {
      is: 'A resource that x402 pays for.',
      resource: 'Its URL, or that of the MCP server whose tool it is.',
      type: '`http` or `mcp`.',
      x402Version: 'The version of x402 in which it is paid.',
      accepts: 'The ways to pay for it, the latest paid first.',
      lastUpdated: 'When it was paid last, or changed.',
      description: 'What it is.',
      mimeType: 'The media type of its answers.',
      serviceName: 'Who sells it.',
      extensions: 'How to call it: `info` and `schema` of the extension `bazaar`.',
    },
  },
}
