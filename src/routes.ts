import type * as z from 'zod/mini'
import { agentRoutes } from './agents/agents/routes.js'
import { mcpRoutes } from './agents/mcp/routes.js'
import { approvalRoutes } from './consent/approvals/routes.js'
import { clientCredentialRoutes } from './consent/client-credentials/routes.js'
import { notificationRoutes } from './consent/notifications/routes.js'
import { oidcBrowserRoutes } from './consent/oidc/browser/routes.js'
import { oidcRoutes } from './consent/oidc/routes.js'
import { personaRoutes } from './consent/personas/routes.js'
import { secondFactorRoutes } from './consent/second-factor/routes.js'
import { signInRoutes } from './consent/sign-in/routes.js'
import { errorCodeRoutes } from './http/error-pages/read-errors.js'
import { openapiRoutes } from './http/openapi/read-openapi.js'
import { probeRoutes } from './http/probes/routes.js'
import type { Route } from './http/route.js'
import { accountRoutes } from './identity/accounts/routes.js'
import { sessionRoutes } from './identity/sessions/routes.js'
import { tokenRoutes } from './identity/tokens/routes.js'
import { userRoutes } from './identity/users/routes.js'
import { eventRoutes } from './jobs/events/routes.js'
import { webhookRoutes } from './jobs/webhooks/routes.js'
import { billingRoutes } from './market/billing/routes.js'
import { cartRoutes } from './market/carts/routes.js'
import { catalogRoutes } from './market/catalog/routes.js'
import { checkoutRefundRoutes } from './market/checkout/refunds/routes.js'
import { checkoutRoutes } from './market/checkout/routes.js'
import { embedRoutes } from './market/embeds/routes.js'
import { paywallRoutes } from './market/paywall/routes.js'
import { purchaseRoutes } from './market/purchases/routes.js'
import { commodityRoutes } from './money/commodities/routes.js'
import { digitalQuantityRoutes } from './money/digital-quantities/routes.js'
import { twinRoutes } from './money/twins/routes.js'
import { paymentRoutes } from './payments/payments/routes.js'
import { statementRoutes } from './payments/statements/routes.js'
import { topupRoutes } from './payments/topups/routes.js'
import { transferRoutes } from './payments/transfers/routes.js'
import { faultRoutes } from './sandbox/controls/faults/routes.js'
import { forkRoutes } from './sandbox/controls/forks/routes.js'
import { journalRoutes } from './sandbox/controls/journal/routes.js'
import { metricsRoutes } from './sandbox/controls/metrics/routes.js'
import { peopleRoutes } from './sandbox/controls/people/routes.js'
import { replayRoutes } from './sandbox/controls/replay/routes.js'
import { controlRoutes } from './sandbox/controls/routes.js'
import { snapshotRoutes } from './sandbox/controls/snapshots/routes.js'
import { knownOperation } from './sandbox/onion/known-operation.js'
import { toolRoutes } from './sandbox/tools/routes.js'

export const metaRoutes = {
  ...openapiRoutes(
    () => routeList,
    () => import('./composition/descriptions.js'),
  ),
  ...errorCodeRoutes(() => routeList),
}

/** The route table: every operation by its id, in the order of the documentation. */
export const routes = {
  ...accountRoutes,
  ...tokenRoutes,
  ...userRoutes,
  ...clientCredentialRoutes,
  ...digitalQuantityRoutes,
  ...twinRoutes,
  ...statementRoutes,
  ...commodityRoutes,
  ...paymentRoutes,
  ...catalogRoutes,
  ...purchaseRoutes,
  ...checkoutRefundRoutes,
  ...checkoutRoutes,
  ...cartRoutes,
  ...paywallRoutes,
  ...personaRoutes,
  ...transferRoutes,
  ...topupRoutes,
  ...sessionRoutes,
  ...signInRoutes,
  ...notificationRoutes,
  ...secondFactorRoutes,
  ...eventRoutes,
  ...webhookRoutes,
  ...agentRoutes,
  ...approvalRoutes,
  ...billingRoutes,
  ...oidcBrowserRoutes,
  ...oidcRoutes,
  ...mcpRoutes,
  ...embedRoutes,
  ...metaRoutes,
  ...probeRoutes,
  ...metricsRoutes,
  ...faultRoutes,
  ...peopleRoutes,
  ...controlRoutes,
  ...journalRoutes,
  ...snapshotRoutes,
  ...forkRoutes,
  ...toolRoutes,
  ...replayRoutes,
}

/** The route table as a list. */
export const routeList: readonly Route[] = Object.values(routes)

/** What coverage and faults know of every operation. */
export const knownOperations = routeList.map(knownOperation)

/** An operation's id: its key in the table, its operationId and the name of its test. */
export type OperationId = keyof typeof routes
/** The types of an operation's path parameters, query, body and JSON answer. */
export type OperationParams<Id extends OperationId> = z.input<NonNullable<(typeof routes)[Id]['params']>>
export type OperationQuery<Id extends OperationId> = z.input<NonNullable<(typeof routes)[Id]['query']>>
export type OperationBody<Id extends OperationId> = z.input<NonNullable<(typeof routes)[Id]['body']>>
export type OperationResult<Id extends OperationId> = z.output<NonNullable<(typeof routes)[Id]['result']>>
/** The JSON of an answer 202: what the caller must wait for before they repeat the call. */
export type OperationWait<Id extends OperationId> = z.output<NonNullable<(typeof routes)[Id]['waits']>>
/** The error codes that an operation itself throws. The router adds those of authentication and decoding. */
export type OperationErrors<Id extends OperationId> = NonNullable<(typeof routes)[Id]['errors']>[number]
