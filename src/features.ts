import type { Feature } from './http/routing/router.js'

/**
 * Every feature, with the first parts of its paths. Its routes, and what only they need, load with the first request
 * below one of these parts. `src/routes.ts` has the same routes at once, for documents, types and tests.
 */
export const features: readonly Feature[] = [
  { areas: ['account'], load: async () => (await import('./identity/accounts/routes.js')).accountRoutes },
  { areas: ['account', 'user'], load: async () => (await import('./identity/tokens/routes.js')).tokenRoutes },
  { areas: ['user', 'users'], load: async () => (await import('./identity/users/routes.js')).userRoutes },
  {
    areas: ['user'],
    load: async () => (await import('./consent/client-credentials/routes.js')).clientCredentialRoutes,
  },
  {
    areas: ['dq', 'twin'],
    load: async () => (await import('./money/digital-quantities/routes.js')).digitalQuantityRoutes,
  },
  { areas: ['twin', 'twins'], load: async () => (await import('./money/twins/routes.js')).twinRoutes },
  { areas: ['twin'], load: async () => (await import('./payments/statements/routes.js')).statementRoutes },
  {
    areas: ['commodity', 'commodities'],
    load: async () => (await import('./money/commodities/routes.js')).commodityRoutes,
  },
  {
    areas: ['payment', 'payments', 'payback', 'commodity'],
    load: async () => (await import('./payments/payments/routes.js')).paymentRoutes,
  },
  { areas: ['catalog'], load: async () => (await import('./market/catalog/routes.js')).catalogRoutes },
  {
    areas: ['catalog', 'purchases'],
    load: async () => (await import('./market/purchases/routes.js')).purchaseRoutes,
  },
  {
    areas: ['checkout'],
    load: async () => (await import('./market/checkout/refunds/routes.js')).checkoutRefundRoutes,
  },
  { areas: ['checkout'], load: async () => (await import('./market/checkout/routes.js')).checkoutRoutes },
  { areas: ['carts'], load: async () => (await import('./market/carts/routes.js')).cartRoutes },
  { areas: ['paywall'], load: async () => (await import('./market/paywall/routes.js')).paywallRoutes },
  { areas: ['persona'], load: async () => (await import('./consent/personas/routes.js')).personaRoutes },
  {
    areas: ['transfer', 'transfers'],
    load: async () => (await import('./payments/transfers/routes.js')).transferRoutes,
  },
  { areas: ['twin'], load: async () => (await import('./payments/topups/routes.js')).topupRoutes },
  { areas: ['session', 'sessions'], load: async () => (await import('./identity/sessions/routes.js')).sessionRoutes },
  { areas: ['session'], load: async () => (await import('./consent/sign-in/routes.js')).signInRoutes },
  {
    areas: ['notifications', 'pay'],
    load: async () => (await import('./consent/notifications/routes.js')).notificationRoutes,
  },
  {
    areas: ['authentication-requests', 'paywall'],
    load: async () => (await import('./consent/second-factor/routes.js')).secondFactorRoutes,
  },
  { areas: ['events'], load: async () => (await import('./jobs/events/routes.js')).eventRoutes },
  { areas: ['webhooks'], load: async () => (await import('./jobs/webhooks/routes.js')).webhookRoutes },
  { areas: ['agent', 'agents'], load: async () => (await import('./agents/agents/routes.js')).agentRoutes },
  { areas: ['approvals', 'agent'], load: async () => (await import('./consent/approvals/routes.js')).approvalRoutes },
  { areas: ['billing'], load: async () => (await import('./market/billing/routes.js')).billingRoutes },
  { areas: ['oidc'], load: async () => (await import('./consent/oidc/browser/routes.js')).oidcBrowserRoutes },
  {
    areas: ['oidc', 'connections', '.well-known'],
    load: async () => (await import('./consent/oidc/routes.js')).oidcRoutes,
  },
  { areas: ['mcp', '.well-known'], load: async () => (await import('./agents/mcp/routes.js')).mcpRoutes },
  {
    areas: ['embed', 'payback', 'verify', 'micropay.js'],
    load: async () => (await import('./market/embeds/routes.js')).embedRoutes,
  },
  { areas: ['openapi.json', 'docs'], load: async () => (await import('./routes.js')).metaRoutes },
  { areas: ['healthz', 'readyz'], load: async () => (await import('./http/probes/routes.js')).probeRoutes },
  { areas: ['metrics'], load: async () => (await import('./sandbox/controls/metrics/routes.js')).metricsRoutes },
  { areas: ['_sandbox'], load: async () => (await import('./sandbox/controls/faults/routes.js')).faultRoutes },
  { areas: ['_sandbox'], load: async () => (await import('./sandbox/controls/people/routes.js')).peopleRoutes },
  { areas: ['_sandbox'], load: async () => (await import('./sandbox/controls/routes.js')).controlRoutes },
  { areas: ['_sandbox'], load: async () => (await import('./sandbox/controls/journal/routes.js')).journalRoutes },
  { areas: ['_sandbox'], load: async () => (await import('./sandbox/controls/snapshots/routes.js')).snapshotRoutes },
  { areas: ['_sandbox'], load: async () => (await import('./sandbox/controls/forks/routes.js')).forkRoutes },
  { areas: ['_sandbox'], load: async () => (await import('./sandbox/tools/routes.js')).toolRoutes },
  { areas: ['_sandbox'], load: async () => (await import('./sandbox/controls/replay/routes.js')).replayRoutes },
]
