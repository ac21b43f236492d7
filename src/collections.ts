import { accounts, memberships } from './accounts/account.js'
import { accountChoices } from './agents/account-choice.js'
import { accountChanges } from './agents/changes/apply.js'
import { approvals } from './approvals/approval.js'
import { agentSettings } from './approvals/settings.js'
import { invoices } from './billing/invoice.js'
import { billingProfiles } from './billing/profile.js'
import { subscriptions } from './billing/subscription.js'
import { mcpUsages } from './billing/usage.js'
import { cartLines, carts } from './carts/cart.js'
import { catalogItems } from './catalog/item.js'
import { dispatchParameters } from './catalog/parameter.js'
import { checkoutCharges } from './checkout/charge.js'
import { checkouts } from './checkout/checkout.js'
import { commodities } from './commodities/commodity.js'
import { serviceKeys, settings } from './controls/settings.js'
import { digitalQuantities } from './digital-quantities/digital-quantity.js'
import { events } from './events/event.js'
import { idempotency } from './http/idempotency.js'
import { balances } from './ledger/balance.js'
import { entries, movements } from './ledger/movement.js'
import { reservations } from './ledger/reservation.js'
import { devices } from './notifications/device.js'
import { oidcInteractions } from './oidc/authorization.js'
import { oidcClients } from './oidc/client.js'
import { oidcCodes } from './oidc/code.js'
import { agentTwins, oidcConnections } from './oidc/connection.js'
import { oidcKeys } from './oidc/keys.js'
import { oidcTokens } from './oidc/token.js'
import { outbox } from './outbox/outbox.js'
import { heldCalls } from './payments/held-payment.js'
import { paybacks } from './payments/payback.js'
import { payments } from './payments/payment.js'
import { delegates } from './personas/delegate.js'
import { personas } from './personas/persona.js'
import { delegateSpendings } from './personas/spending.js'
import { purchaseResponses, purchases } from './purchases/receipt.js'
import { rates } from './rates/rate.js'
import { timers } from './schedule/timer.js'
import { phones } from './second-factor/phone.js'
import { authenticationRequests } from './second-factor/request.js'
import { sessions } from './sessions/session.js'
import { signInCodes } from './sessions/sign-in-code.js'
import type { AnyCollection } from './storage/storage.js'
import { clientFailures, clients } from './tokens/client.js'
import { tokens } from './tokens/token.js'
import { transfers } from './transfers/transfer.js'
import { twins } from './twins/twin.js'
import { twinNames } from './twins/twin-name.js'
import { twinNonces } from './twins/twin-nonce.js'
import { users } from './users/user.js'

/** Every collection of the service, for adapters that must know them all before the first row. */
export const collections: readonly AnyCollection[] = [
  accounts,
  memberships,
  clients,
  clientFailures,
  tokens,
  users,
  sessions,
  signInCodes,
  devices,
  authenticationRequests,
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
  outbox,
  events,
  timers,
  settings,
  serviceKeys,
]
