import type { Evidence } from './evidence.js'
import { type Route, route, type Version } from './http/route.js'
import { problem } from './problem.js'

type Planned = readonly [
  id: string,
  method: Route['method'],
  path: `/${string}`,
  evidence?: Evidence,
  ...versions: Version[],
]

/** Operations that are part of the interface and not built yet: they answer 501, never a bare 404. */
const planned: readonly Planned[] = [
  ['listCatalogItems', 'GET', '/catalog/items', 'observed'],
  ['createCatalogItem', 'POST', '/catalog/items'],
  ['readCatalogItem', 'GET', '/catalog/items/:id', 'observed'],
  ['updateCatalogItem', 'PUT', '/catalog/items/:id'],
  ['archiveCatalogItem', 'POST', '/catalog/items/:id/archive'],
  ['restoreCatalogItem', 'POST', '/catalog/items/:id/restore'],
  ['listDispatchParameters', 'GET', '/catalog/items/:id/parameters'],
  ['replaceDispatchParameters', 'PUT', '/catalog/items/:id/parameters'],
  ['createPurchase', 'POST', '/catalog/items/:id/purchases'],
  ['listOwnCatalogItems', 'GET', '/catalog/mine'],
  ['listPurchases', 'GET', '/purchases'],
  ['readPurchase', 'GET', '/purchases/:id'],

  ['createCheckout', 'POST', '/checkout'],
  ['readCheckout', 'GET', '/checkout/:token'],
  ['completeCheckout', 'POST', '/checkout/:token/complete'],
  ['createCart', 'POST', '/carts'],
  ['readCart', 'GET', '/carts/:id'],
  ['deleteCart', 'DELETE', '/carts/:id'],
  ['addCartItem', 'POST', '/carts/:id/items'],
  ['updateCartItem', 'PUT', '/carts/:id/items/:line'],
  ['deleteCartItem', 'DELETE', '/carts/:id/items/:line'],
  ['payCart', 'POST', '/carts/:id/pay'],

  ['createAccountChoice', 'POST', '/agent/account-choice'],
  ['createApproval', 'POST', '/agent/approvals'],
  ['readApproval', 'GET', '/agent/approvals/:id'],
  ['applyAccountChange', 'POST', '/agent/account-changes', 'documented'],
  ['readAgentSettings', 'GET', '/agent/settings'],
  ['updateAgentSettings', 'PUT', '/agent/settings'],
  ['listApprovals', 'GET', '/approvals'],
  ['approveApproval', 'POST', '/approvals/:id/approve'],
  ['rejectApproval', 'POST', '/approvals/:id/reject'],

  ['createTool', 'POST', '/mcp/tools', 'observed'],
  ['listTools', 'GET', '/mcp/tools', 'observed'],
  ['updateTool', 'PUT', '/mcp/tools/:id', 'observed'],
  ['deleteTool', 'DELETE', '/mcp/tools/:id', 'observed'],

  ['listPlans', 'GET', '/billing/plans'],
  ['readBilling', 'GET', '/billing'],
  ['updatePlan', 'PUT', '/billing/plan'],
  ['updateCard', 'PUT', '/billing/card'],
  ['deleteCard', 'DELETE', '/billing/card'],
  ['readBillingProfile', 'GET', '/billing/profile'],
  ['updateBillingProfile', 'PUT', '/billing/profile'],
  ['listInvoices', 'GET', '/billing/invoices'],
  ['readInvoice', 'GET', '/billing/invoices/:id'],
  ['payInvoice', 'POST', '/billing/invoices/:id/pay'],
]

export default planned.map(([id, method, path, evidence = 'designed', ...versions]) =>
  route({
    id,
    summary: 'Part of the interface, and not built yet.',
    evidence,
    method,
    path,
    versions: versions.length > 0 ? versions : ['v4'],
    auth: ['none'],
    tag: 'planned',
    status: 501,
    errors: ['not_built'],
    handle: async () => {
      throw problem('not_built')
    },
  }),
)
