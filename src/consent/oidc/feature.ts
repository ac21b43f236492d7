import { CLIENT_DELETED, oidcClients } from './clients/client.js'
import { agentTwins, endDeletedClient, oidcConnections } from './connection.js'
import { oidcKeys } from './key-row.js'
import { oidcCodes, oidcTokens } from './token.js'

export const oidcFeature = {
  areas: ['oidc', 'connections', '.well-known'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [oidcClients, oidcCodes, oidcTokens, oidcConnections, oidcKeys, agentTwins],
  timers: { [CLIENT_DELETED]: async () => endDeletedClient },
}
