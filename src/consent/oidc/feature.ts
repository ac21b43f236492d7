import { CLIENT_DELETED, oidcClients } from './clients/client.js'
import { oidcCodes } from './code.js'
import { agentTwins, oidcConnections } from './connection.js'
import { oidcKeys } from './key-row.js'
import { oidcTokens } from './token.js'

export const oidcFeature = {
  areas: ['oidc', 'connections', '.well-known'],
  load: async () => (await import('./routes.js')).oidcRoutes,
  describe: async () => (await import('./descriptions.js')).oidcTexts,
  collections: [oidcClients, oidcCodes, oidcTokens, oidcConnections, oidcKeys, agentTwins],
  timers: {
    [CLIENT_DELETED]: async () => (await import('./deleted-client.js')).endDeletedClient,
  },
}
