import accounts from './accounts/routes.js'
import agents from './agents/routes.js'
import approvals from './approvals/routes.js'
import billing from './billing/routes.js'
import carts from './carts/routes.js'
import catalog from './catalog/routes.js'
import refunds from './checkout/refunds/routes.js'
import checkout from './checkout/routes.js'
import commodities from './commodities/routes.js'
import controls from './controls/routes.js'
import digitalQuantities from './digital-quantities/routes.js'
import embeds from './embeds/routes.js'
import events from './events/routes.js'
import { openapiRoute } from './http/openapi.js'
import type { Route } from './http/route.js'
import mcp from './mcp/routes.js'
import notifications from './notifications/routes.js'
import oidc from './oidc/routes.js'
import payments from './payments/routes.js'
import paywall from './paywall/routes.js'
import personas from './personas/routes.js'
import purchases from './purchases/routes.js'
import secondFactor from './second-factor/routes.js'
import sessions from './sessions/routes.js'
import tokens from './tokens/routes.js'
import topups from './topups/routes.js'
import transfers from './transfers/routes.js'
import twins from './twins/routes.js'
import users from './users/routes.js'

/** Every operation of the service, in the order of the documentation. */
export const routes: readonly Route[] = [
  ...tagged('accounts', accounts),
  ...tagged('tokens', tokens),
  ...tagged('users', users),
  ...tagged('digital quantities', digitalQuantities),
  ...tagged('twins', twins),
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
  ...tagged('notifications', notifications),
  ...tagged('second factor', secondFactor),
  ...tagged('events', events),
  ...tagged('agents', agents),
  ...tagged('approvals', approvals),
  ...tagged('billing', billing),
  ...tagged('oidc', oidc),
  ...tagged('mcp', mcp),
  ...tagged('embeds', embeds),
  openapiRoute(() => routes),
  ...tagged('sandbox', controls),
]

function tagged(tag: string, entries: readonly Route[]): Route[] {
  return entries.map((entry) => ({ ...entry, tag }))
}
