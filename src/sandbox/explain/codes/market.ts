import { cartLines, carts } from '../../../market/carts/cart.js'
import { type CatalogItemRow, catalogItems } from '../../../market/catalog/item-row.js'
import { dispatchParameters } from '../../../market/catalog/parameter.js'
import { checkoutCharges } from '../../../market/checkout/charge.js'
import { checkouts } from '../../../market/checkout/checkout-row.js'
import { plans } from '../../../market/plans/plan.js'
import { subscriptionOf } from '../../../market/plans/subscription.js'
import { payments } from '../../../payments/payments/payment.js'
import { likelyAccount } from '../facts/credentials.js'
import type { Explainers } from '../facts/explainer.js'
import type { ExampleCall, Finding, Fix } from '../facts/explanation.js'
import { invoiceFacts, subscriptionIn } from '../facts/plan.js'
import { checkoutIn, commodityIn, itemIn, priceOf } from '../facts/price.js'
import { isFields, REDACTED, type RefusedRequest } from '../facts/refused-request.js'
import { declaredArguments, fittingArguments, requiredArguments } from '../facts/samples.js'
import { money, ownerText, shownAmount, timeText } from '../facts/words.js'

/** Items and the endpoints of their sellers, checkouts, carts, plans and invoices. */
export const marketExplainers = {
  async item_archived(asked) {
    const item = await soldItem(asked)
    const fix = item && asked.first('restoreCatalogItem', restoring(item))
    return { ...(await itemFacts(asked, item)), fix }
  },

  async item_not_archived(asked) {
    const item = await soldItem(asked)
    const example = item && changing(item, { active: true })
    const fix = example && !item.active ? { operation_id: 'updateCatalogItem', example, next: null } : undefined
    return { ...(await itemFacts(asked, item)), fix }
  },

  async item_inactive(asked) {
    const item = await soldItem(asked)
    const change = item && changing(item, { active: true, ...(item.private && { private: false }) })
    const state = item?.archived ? 'archived' : item?.active ? 'private, so only its own account sells it' : 'inactive'
    const fix = (): Fix | undefined => {
      if (!change) return undefined
      return item.archived
        ? asked.firstBoth('restoreCatalogItem', [restoring(item), change])
        : asked.first('updateCatalogItem', change)
    }
    return { ...(await itemFacts(asked, item)), state, fix: fix() }
  },

  async arguments_refused(asked) {
    const item = await soldItem(asked)
    const schema = item?.service_schema ?? {}
    const [names, required] = [Object.keys(declaredArguments(schema)), requiredArguments(schema)]
    const sent = isFields(asked.body.arguments) ? asked.body.arguments : {}
    const refused = asked.textFact('argument')?.split('/')[0]
    return {
      ...{ ...(await itemFacts(asked, item)), sent, schema },
      declared: names.map((name) => `\`${name}\`${required.includes(name) ? ' (required)' : ''}`),
      undeclared: Object.keys(sent).filter((name) => !names.includes(name)),
      fix: asked.corrected({ body: { arguments: fittingArguments(schema, sent, refused) } }),
    }
  },

  async schema_refused(asked) {
    const item = await soldItem(asked)
    const change = { service_schema: { type: 'object', properties: {} } }
    const fix = item && asked.first('updateCatalogItem', changing(item, change))
    return { ...(await itemFacts(asked, item)), schema: item?.service_schema, fix }
  },

  async parameter_unreadable(asked) {
    const item = await soldItem(asked)
    const rows = await asked.tx.find(dispatchParameters, { index: 'byItem', prefix: [item?.id ?? 0], limit: 50 })
    const needed = [...(item?.external_endpoint.matchAll(/\{secret\.(\w+)\}/g) ?? [])].map(([, name]) => name ?? '')
    const names = [...new Set([...rows.map(({ name }) => name), ...needed])]
    const kindOf = (name: string) => rows.find((row) => row.name === name)?.kind ?? 'url'
    const parameters = names.map((name) => ({ kind: kindOf(name), name, value: 'example', sensitive: false }))
    const [method, path] = ['PUT', `/v4/catalog/items/${item?.id}/parameters`]
    const example = { method, path, as: `account:${item?.account_id}`, body: { parameters } }
    return {
      ...{ ...(await itemFacts(asked, item)), needed, stored: rows.map(({ name, kind }) => ({ name, kind })) },
      ...{ names: rows.map(({ name }) => name), fix: item && asked.first('replaceDispatchParameters', example) },
    }
  },

  async upstream_failed(asked) {
    const item = await soldItem(asked)
    const payment = await asked.tx.get(payments, asked.numberFact('transaction_id') ?? 0)
    const price = payment && (await shownAmount(asked.tx, payment.dq, payment.amount))
    return {
      ...{ ...(await itemFacts(asked, item)), service_method: item?.service_method },
      endpoint: item?.external_endpoint ?? asked.sentText('serviceUrl'),
      payment: payment && { id: payment.id, status: payment.status, amount: price },
      price: payment && (await money(asked.tx, payment.dq, payment.amount)),
      calls: asked.entry.caused.flatMap(({ kind, id }) => (kind === 'upstream' ? [String(id)] : [])),
      upstream_ms: asked.service.limits.upstreamMs,
      fix: asked.corrected({ headers: { 'idempotency-key': `key-${asked.entry.id}` } }),
    }
  },

  too_many_calls(asked) {
    const { freeCalls } = asked.service.limits
    const most = asked.numberFact('most')
    return { most: most ?? freeCalls, ...(most === undefined && { option: 'limits.freeCalls' }) }
  },

  checkout_paid: withNewLink,
  checkout_expired: withNewLink,

  async checkout_paying(asked) {
    const { fix, ...facts } = await withNewLink(asked)
    return { ...facts, retry_after: 5 }
  },

  refund_settled: refundFacts,

  async refund_outcome_refused(asked) {
    const facts = await refundFacts(asked)
    const isUnrefunded = facts.refund_status === 'unrefunded'
    const fix = asked.corrected({ body: { outcome: isUnrefunded ? 'again' : 'returned' } })
    return { ...facts, sent: asked.body.outcome, again: isUnrefunded, fix }
  },

  async cart_full(asked) {
    const { cart, lines } = await cartIn(asked)
    return { cart, lines: lines.length, most: 50, fix: newCart(asked) }
  },

  async cart_empty(asked) {
    const { cart, row, lines } = await cartIn(asked)
    const [item] = await asked.tx.find(catalogItems, { index: 'listed', prefix: [], limit: 1, reverse: true })
    const body = { catalog_item_id: item?.id, arguments: fittingArguments(item?.service_schema ?? {}, {}) }
    const example = { method: 'POST', path: `/v4/carts/${cart}/items`, as: asked.entry.principal ?? '', body }
    const fix = item && row && asked.first('addCartItem', example)
    return { cart, lines: lines.length, lines_made: row?.lines_made, item: item?.id, fix }
  },

  async cart_closed(asked) {
    const { cart, row, lines } = await cartIn(asked)
    const ordered_at = row?.ordered_at == null ? null : timeText(row.ordered_at)
    return { cart, ordered_at, receipts: lines.flatMap(({ receipts }) => receipts), fix: newCart(asked) }
  },

  async cart_paying(asked) {
    const { cart } = await cartIn(asked)
    const { path, id } = asked.entry
    const other = await asked.findEarlier((each) => each.path === path && each.id !== id)
    const example = { method: 'GET', path: `/v4/carts/${cart}`, as: asked.entry.principal ?? '' }
    return {
      cart,
      other: other?.id,
      other_at: other && timeText(Date.parse(other.at)),
      fix: { operation_id: 'readCart', example, next: null },
    }
  },

  async card_minimum(asked) {
    const [[dq, sum] = ['', 0n]] = (await priceOf(asked))?.sums ?? []
    const fix = asked.corrected({ body: { payment_method_id: undefined } })
    return { price: dq ? await money(asked.tx, dq, sum) : null, least: 0.5, fix }
  },

  async card_required(asked) {
    const { plan, card } = await subscriptionIn(asked)
    const account = asked.callerId('account')
    return {
      ...{ account, owner: `account:${account}`, plan, plan_name: plans[plan].name, wanted: asked.body.plan },
      ...{ card: card?.card, fix: asked.corrected({ body: { payment_method_id: 'pm_card_visa' } }) },
    }
  },

  async card_in_use(asked) {
    const { plan, card, unpaid_invoice_id: unpaid_invoice } = await subscriptionIn(asked)
    const as = asked.entry.principal ?? ''
    const body = { payment_method_id: 'pm_card_mastercard' }
    const fix = {
      operation_id: 'updateCard',
      example: { method: 'PUT', path: '/v4/billing/card', as, body },
      next: null,
    }
    return { plan, plan_name: plans[plan].name, card: card?.card, unpaid_invoice, fix }
  },

  invoice_not_open: invoiceFacts,

  async invoice_unpaid(asked) {
    const { account, ...facts } = await invoiceFacts(asked)
    const path = `/v4/billing/invoices/${facts.invoice}/pay`
    const example = { method: 'POST', path, as: `account:${account}`, body: { payment_method_id: 'pm_card_visa' } }
    return { ...facts, fix: account === undefined ? undefined : asked.first('payInvoice', example) }
  },

  charge_pending: async (asked) => ({ ...(await invoiceFacts(asked)), fix: asked.later(60) }),

  async plan_limit_reached(asked) {
    const item = await itemIn(asked)
    const account = item?.account_id ?? Number(asked.callerOwner()?.split(':')[1] ?? (await likelyAccount(asked)) ?? 0)
    const { plan } = await subscriptionOf(asked.tx, account)
    const next = plan === 'free' ? plans.growth : plans.scale
    const counted = asked.textFact('of') === 'mcp_calls' ? 'mcp_calls' : 'active_items'
    const resets = asked.numberFact('resets_at')
    const body = { plan: next.id, payment_method_id: 'pm_card_visa' }
    return {
      ...{ account, owner: `account:${account}`, plan, plan_name: plans[plan].name, next_plan: next.name },
      ...{ counted: counted.replace('_', ' '), next_limit: next.limits[counted] ?? 'any number' },
      resets: resets && timeText(resets * 1000),
      fix: asked.first('updatePlan', { method: 'PUT', path: '/v4/billing/plan', as: `account:${account}`, body }),
    }
  },
} satisfies Explainers

/** The item that a request buys or changes: named, of the refused line of a cart, or by the commodity. */
async function soldItem(asked: RefusedRequest): Promise<CatalogItemRow | undefined> {
  const line = asked.numberFact('line')
  if (line !== undefined && asked.operation?.path.startsWith('/carts/')) {
    const [row] = await asked.tx.find(cartLines, { index: 'byCart', prefix: [Number(asked.params.id), line], limit: 1 })
    return row && asked.tx.get(catalogItems, row.catalog_item_id)
  }
  const named = await itemIn(asked)
  if (named) return named
  const prefix = [(await commodityIn(asked))?.id ?? '']
  const [item] = await asked.tx.find(catalogItems, { index: 'byCommodity', prefix, limit: 1 })
  return item
}

async function itemFacts({ tx }: RefusedRequest, item: CatalogItemRow | undefined): Promise<Finding> {
  if (!item) return { about: 'The journal does not show which item this is.' }
  const { id, name, account_id: account, active, archived } = item
  const about = `Catalog item ${id}, “${name}”, belongs to ${await ownerText(tx, `account:${account}`)}.`
  return { about, item: id, name, account, active, private: item.private, archived }
}

const changing = ({ id, account_id }: CatalogItemRow, body: object): ExampleCall => ({
  ...{ method: 'PUT', path: `/v4/catalog/items/${id}`, as: `account:${account_id}`, body },
})

const restoring = ({ id, account_id }: CatalogItemRow): ExampleCall => ({
  ...{ method: 'POST', path: `/v4/catalog/items/${id}/restore`, as: `account:${account_id}` },
})

/** A guest is named by a digest of the session, which says nothing to people. */
const payerText = (payer: string): string => (payer.startsWith('guest:') ? 'A guest' : payer)

/** The checkout of a request. Creates another link for the same item, whose token the next request uses. */
async function withNewLink(asked: RefusedRequest): Promise<Finding> {
  const checkout = await checkoutIn(asked)
  if (!checkout) return { about: 'No checkout has the token of the path any more.' }
  const { id, maker, name, dq, price, payer, attempt, attempt_at, catalog_item_id: item } = checkout
  const by = maker === null ? '' : ` of ${await ownerText(asked.tx, maker)}`
  const example = {
    ...{ method: 'POST', path: '/v4/checkout', ...(maker !== null && { as: maker }) },
    body: { catalog_item_id: item, arguments: checkout.arguments },
  }
  const next = asked.again({ path: asked.entry.path.replace(REDACTED, '{token}') })
  return {
    about: `Checkout ${id}${by} sells “${name}” for ${await money(asked.tx, dq, price)}.`,
    ...{ checkout: id, checkout_status: checkout.status, item, receipt: checkout.receipt_id },
    ...{ payer: payer == null ? null : payerText(payer), expires_at: timeText(checkout.expires_at) },
    attempt_at: attempt == null || attempt_at === undefined ? null : timeText(attempt_at),
    fix: asked.first('createCheckout', example, next),
  }
}

async function refundFacts({ tx, params }: RefusedRequest): Promise<Finding> {
  const charge = await tx.get(checkoutCharges, Number(params.id))
  if (!charge) return { about: `The refund ${params.id}` }
  const { amount, status: refund_status, payer, charge_id, refusal } = charge
  const dq = (await tx.get(checkouts, charge.checkout_id))?.dq ?? ''
  return {
    about: `The refund ${charge.id} of ${await money(tx, dq, amount)}`,
    ...{ amount: await shownAmount(tx, dq, amount), refund_status, payer: payerText(payer), charge_id, refusal },
  }
}

async function cartIn({ tx, params, body }: RefusedRequest) {
  const id = Number(params.id ?? body.cart_id)
  const row = await tx.get(carts, id)
  const lines = await tx.find(cartLines, { index: 'byCart', prefix: [id], limit: 50 })
  return { cart: row?.id, row, lines }
}

/** Creates another cart, whose id the next request uses. */
function newCart(asked: RefusedRequest): Fix {
  const { principal, path } = asked.entry
  const example = { method: 'POST', path: '/v4/carts', ...(principal !== null && { as: principal }), body: {} }
  return asked.first('createCart', example, asked.again({ path: path.replace(/carts\/\d+/, 'carts/{id}') }))
}
