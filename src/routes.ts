import agents from './agents/agents/routes.js'
import mcp from './agents/mcp/routes.js'
import approvals from './consent/approvals/routes.js'
import clientCredentials from './consent/client-credentials/routes.js'
import notifications from './consent/notifications/routes.js'
import oidcBrowser from './consent/oidc/browser/routes.js'
import oidc from './consent/oidc/routes.js'
import personas from './consent/personas/routes.js'
import secondFactor from './consent/second-factor/routes.js'
import signIn from './consent/sign-in/routes.js'
import type { Route } from './http/route.js'
import { openapiRoute } from './http/routing/openapi.js'
import accounts from './identity/accounts/routes.js'
import sessions from './identity/sessions/routes.js'
import tokens from './identity/tokens/routes.js'
import users from './identity/users/routes.js'
import events from './jobs/events/routes.js'
import billing from './market/billing/routes.js'
import carts from './market/carts/routes.js'
import catalog from './market/catalog/routes.js'
import refunds from './market/checkout/refunds/routes.js'
import checkout from './market/checkout/routes.js'
import embeds from './market/embeds/routes.js'
import paywall from './market/paywall/routes.js'
import purchases from './market/purchases/routes.js'
import commodities from './money/commodities/routes.js'
import digitalQuantities from './money/digital-quantities/routes.js'
import twins from './money/twins/routes.js'
import payments from './payments/payments/routes.js'
import statements from './payments/statements/routes.js'
import topups from './payments/topups/routes.js'
import transfers from './payments/transfers/routes.js'
import people from './sandbox/controls/people/routes.js'
import controls from './sandbox/controls/routes.js'

/** Every operation of the service, in the order of the documentation. */
export const routes: readonly Route[] = [
  ...tagged('accounts', accounts),
  ...tagged('tokens', tokens),
  ...tagged('users', users),
  ...tagged('users', clientCredentials),
  ...tagged('digital quantities', digitalQuantities),
  ...tagged('twins', twins),
  ...tagged('twins', statements),
  ...tagged('commodities', commodities),
  ...tagged('payments', payments),
  ...tagged('catalog', catalog),
  ...tagged('purchases', purchases),
  ...tagged('checkout', refunds),
  ...tagged('checkout', checkout),
  ...tagged('carts', carts),
  ...tagged('paywall', paywall),
  ...tagged('personas', personas),
  ...tagged('transfers', transfers),
  ...tagged('top-ups', topups),
  ...tagged('sessions', sessions),
  ...tagged('sessions', signIn),
  ...tagged('notifications', notifications),
  ...tagged('second factor', secondFactor),
  ...tagged('events', events),
  ...tagged('agents', agents),
  ...tagged('approvals', approvals),
  ...tagged('billing', billing),
  ...tagged('oidc', oidcBrowser),
  ...tagged('oidc', oidc),
  ...tagged('mcp', mcp),
  ...tagged('embeds', embeds),
  openapiRoute(() => routes),
  ...tagged('sandbox', people),
  ...tagged('sandbox', controls),
]

function tagged(tag: string, entries: readonly Route[]): Route[] {
  return entries.map((entry) => ({ ...entry, tag }))
}
