import { agentFeature } from './agents/agents/feature.js'
import { bazaarFeature } from './agents/bazaar/feature.js'
import { itemCallFeature } from './agents/item-calls/feature.js'
import { mcpFeature } from './agents/mcp/feature.js'
import { paywallFeature } from './agents/paywall/feature.js'
import { walletFeature } from './agents/wallets/feature.js'
import { x402Feature } from './agents/x402/feature.js'
import { type Feature, metaFeature } from './composition/feature.js'
import { approvalFeature } from './consent/approvals/feature.js'
import { clientCredentialFeature } from './consent/client-credentials/feature.js'
import { deviceFeature } from './consent/devices/device.js'
import { notificationFeature } from './consent/notifications/feature.js'
import { oidcBrowserFeature } from './consent/oidc/browser/feature.js'
import { oidcFeature } from './consent/oidc/feature.js'
import { personaFeature } from './consent/personas/feature.js'
import { secondFactorFeature } from './consent/second-factor/feature.js'
import { signInFeature } from './consent/sign-in/feature.js'
import { idempotencyFeature } from './http/idempotency/idempotency.js'
import { probeFeature } from './http/probes/feature.js'
import { accountFeature } from './identity/accounts/feature.js'
import { sessionFeature } from './identity/sessions/feature.js'
import { tokenFeature } from './identity/tokens/feature.js'
import { userFeature } from './identity/users/feature.js'
import { eventFeature } from './jobs/events/feature.js'
import { outboxFeature } from './jobs/outbox/outbox.js'
import { processFeature } from './jobs/processes/process-rows.js'
import { rateFeature } from './jobs/rates/rate.js'
import { timerFeature } from './jobs/schedule/timer.js'
import { webhookFeature } from './jobs/webhooks/feature.js'
import { billingFeature } from './market/billing/feature.js'
import { cartFeature } from './market/carts/feature.js'
import { catalogFeature } from './market/catalog/feature.js'
import { checkoutFeature } from './market/checkout/feature.js'
import { embedFeature } from './market/embeds/feature.js'
import { merchantPaymentFeature } from './market/paywall/feature.js'
import { planFeature } from './market/plans/plan.js'
import { purchaseFeature } from './market/purchases/feature.js'
import { commodityFeature } from './money/commodities/feature.js'
import { digitalQuantityFeature } from './money/digital-quantities/feature.js'
import { ledgerFeature } from './money/ledger/movement.js'
import { twinFeature } from './money/twins/feature.js'
import { paymentFeature } from './payments/payments/feature.js'
import { statementFeature } from './payments/statements/feature.js'
import { topupFeature } from './payments/topups/feature.js'
import { transferFeature } from './payments/transfers/feature.js'
import { controlFeature } from './sandbox/controls/http/feature.js'
import { settingsFeature } from './sandbox/settings/settings.js'
import { toolFeature } from './sandbox/tools/feature.js'

const all = [
  accountFeature,
  tokenFeature,
  userFeature,
  clientCredentialFeature,
  digitalQuantityFeature,
  twinFeature,
  statementFeature,
  commodityFeature,
  paymentFeature,
  catalogFeature,
  purchaseFeature,
  checkoutFeature,
  cartFeature,
  merchantPaymentFeature,
  paywallFeature,
  personaFeature,
  transferFeature,
  topupFeature,
  sessionFeature,
  signInFeature,
  notificationFeature,
  secondFactorFeature,
  eventFeature,
  webhookFeature,
  agentFeature,
  approvalFeature,
  billingFeature,
  oidcBrowserFeature,
  oidcFeature,
  mcpFeature,
  walletFeature,
  x402Feature,
  itemCallFeature,
  bazaarFeature,
  embedFeature,
  metaFeature(() => features),
  probeFeature,
  controlFeature,
  toolFeature,
  deviceFeature,
  planFeature,
  ledgerFeature,
  idempotencyFeature,
  rateFeature,
  processFeature,
  outboxFeature,
  timerFeature,
  settingsFeature,
] as const satisfies readonly Feature[]

/** Every feature, in the order of the documentation. */
export const features: readonly Feature[] = all

export type KnownFeature = (typeof all)[number]
