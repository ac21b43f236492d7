import { accountChoices } from './agents/agents/account-choice-row.js'
import { accountChanges } from './agents/agents/changes/change-row.js'
import { approvals } from './consent/approvals/approval.js'
import { agentSettings } from './consent/approvals/settings.js'
import { devices } from './consent/devices/device.js'
import { oidcInteractions } from './consent/oidc/browser/interaction-row.js'
import { oidcClients } from './consent/oidc/clients/client.js'
import { oidcCodes } from './consent/oidc/code.js'
import { agentTwins, oidcConnections } from './consent/oidc/connection.js'
import { oidcKeys } from './consent/oidc/key-row.js'
import { oidcTokens } from './consent/oidc/token.js'
import { delegates } from './consent/personas/delegate.js'
import { personas } from './consent/personas/persona.js'
import { delegateSpendings } from './consent/personas/spending.js'
import { phones } from './consent/second-factor/phone.js'
import { authenticationRequests } from './consent/second-factor/request.js'
import { standingApprovals } from './consent/second-factor/standing-approval.js'
import { idempotency } from './http/idempotency/idempotency.js'
import { accounts, memberships, sellerWords } from './identity/accounts/account.js'
import { sessions } from './identity/sessions/session.js'
import { signInCodes } from './identity/sessions/sign-in-code.js'
import { clients } from './identity/tokens/client.js'
import { tokens } from './identity/tokens/token.js'
import { users } from './identity/users/user.js'
import { events } from './jobs/events/event.js'
import { outbox } from './jobs/outbox/outbox.js'
import { processes } from './jobs/processes/process-rows.js'
import { dailyCounts } from './jobs/rates/daily-count.js'
import { rates } from './jobs/rates/rate.js'
import { timers } from './jobs/schedule/timer.js'
import { webhookDeliveries, webhookProgress, webhooks } from './jobs/webhooks/webhook-row.js'
import { billingProfiles, invoices } from './market/billing/invoice-row.js'
import { cartLines, carts } from './market/carts/cart.js'
import { catalogCounts, catalogItems, catalogWords } from './market/catalog/item-row.js'
import { dispatchParameters } from './market/catalog/parameter.js'
import { checkoutCharges } from './market/checkout/charge.js'
import { checkouts } from './market/checkout/checkout-row.js'
import { subscriptions } from './market/plans/subscription.js'
import { mcpUsages } from './market/plans/usage.js'
import { purchaseResponses, purchases } from './market/purchases/receipt-row.js'
import { commodities } from './money/commodities/commodity.js'
import { digitalQuantities } from './money/digital-quantities/digital-quantity.js'
import { balances } from './money/ledger/balance.js'
import { entries, movements } from './money/ledger/movement.js'
import { reservations } from './money/ledger/reservation.js'
import { twinNames, twins } from './money/twins/twin.js'
import { twinNonces } from './money/twins/twin-nonce.js'
import { heldCalls } from './payments/payments/held-payment.js'
import { paybacks } from './payments/payments/payback.js'
import { payments } from './payments/payments/payment.js'
import { binderImports, binderPieces, importedDelegates } from './payments/statements/binder-import-row.js'
import { transfers } from './payments/transfers/transfer.js'
import { serviceKeys, settings } from './sandbox/settings/settings.js'
import type { AnyCollection } from './storage/storage.js'

/** Every collection of the service. Adapters such as IndexedDB need all of them before the first row. */
export const collections: readonly AnyCollection[] = [
  accounts,
  memberships,
  sellerWords,
  clients,
  tokens,
  users,
  sessions,
  signInCodes,
  devices,
  authenticationRequests,
  standingApprovals,
  phones,
  oidcClients,
  oidcInteractions,
  oidcCodes,
  oidcTokens,
  oidcConnections,
  oidcKeys,
  agentTwins,
  approvals,
  agentSettings,
  accountChanges,
  accountChoices,
  twins,
  twinNames,
  twinNonces,
  digitalQuantities,
  commodities,
  catalogItems,
  catalogWords,
  catalogCounts,
  dispatchParameters,
  purchases,
  purchaseResponses,
  payments,
  personas,
  delegates,
  delegateSpendings,
  paybacks,
  transfers,
  heldCalls,
  binderImports,
  binderPieces,
  importedDelegates,
  carts,
  cartLines,
  checkouts,
  checkoutCharges,
  subscriptions,
  billingProfiles,
  invoices,
  mcpUsages,
  balances,
  movements,
  entries,
  reservations,
  idempotency,
  rates,
  dailyCounts,
  processes,
  outbox,
  events,
  webhooks,
  webhookDeliveries,
  webhookProgress,
  timers,
  settings,
  serviceKeys,
]
