import { cartLines, carts } from '../../../market/carts/cart.js'
import { type CatalogItemRow, catalogItems } from '../../../market/catalog/item-row.js'
import { dispatchParameters } from '../../../market/catalog/parameter.js'
import { checkoutCharges, checkouts } from '../../../market/checkout/checkout-row.js'
import { plans, subscriptionOf } from '../../../market/plans/plan.js'
import { payments } from '../../../payments/payments/payment.js'
import { isObject } from '../../../storage/unknown.js'
import { likelyAccount } from '../facts/credentials.js'
import type { FactsByName, Finding, Fix } from '../facts/explanation.js'
import { checkoutIn, commodityIn, invoiceFacts, itemIn, itemSelling, priceOf, subscriptionIn } from '../facts/price.js'
import {
  type Explainers,
  exampleCall,
  REDACTED,
  type RefusedRequest,
  withNewKey,
  withWorkingCard,
} from '../facts/refused-request.js'
import { money, ownerText, shownAmount, timeText } from '../facts/words.js'

/** Items and the endpoints of their sellers, checkouts, carts, plans and invoices. */
export const marketExplainers = {
  async item_archived(asked) {
    const { item, facts, path, as } = await soldItem(asked)
    return { ...facts, fix: item && asked.first(`POST ${path}/restore`, { as }) }
  },
  async item_not_archived(asked) {
    const { item, facts, path, as } = await soldItem(asked)
    return { ...facts, fix: item && !item.active && asked.instead(`PUT ${path}`, { as, body: { active: true } }) }
  },
  async item_inactive(asked) {
    const { item, facts, path, as } = await soldItem(asked)
    const state = item?.archived ? 'archived' : item?.active ? 'private, so only its own account sells it' : 'inactive'
    if (!item) return { ...facts, state, fix: undefined }
    const change = { as, body: { active: true, ...(item.private && { private: false }) } }
    const restore = () => asked.first(`POST ${path}/restore`, { as, between: exampleCall(`PUT ${path}`, change) })
    return { ...facts, state, fix: item.archived ? restore() : asked.first(`PUT ${path}`, change) }
  },
  async arguments_refused(asked) {
    const { item, facts } = await soldItem(asked)
    const schema = item?.service_schema ?? {}
    const { declared, required } = argumentsOf(schema)
    const names = Object.keys(declared)
    const sent = isObject(asked.body.arguments) ? asked.body.arguments : {}
    const refused = asked.textFact('argument')?.split('/')[0]
    return {
      ...{ ...facts, sent, schema },
      declared: names.map((name) => `\`${name}\`${required.includes(name) ? ' (required)' : ''}`),
      undeclared: Object.keys(sent).filter((name) => !names.includes(name)),
      fix: asked.withFields({ arguments: fittingArguments(schema, sent, refused) }),
    }
  },
  async schema_refused(asked) {
    const { item, facts, path, as } = await soldItem(asked)
    const body = { service_schema: { type: 'object', properties: {} } }
    return { ...facts, schema: item?.service_schema, fix: item && asked.first(`PUT ${path}`, { as, body }) }
  },
  async parameter_unreadable(asked) {
    const { item, facts, path, as } = await soldItem(asked)
    const rows = await asked.rows(dispatchParameters, 'byItem', [item?.id ?? 0])
    const needed = [...(item?.external_endpoint.matchAll(/\{secret\.(\w+)\}/g) ?? [])].map(([, name]) => name ?? '')
    const stored = rows.map(({ name, kind }) => ({ name, kind }))
    const names = rows.map(({ name }) => name)
    const kindOf = (name: string) => rows.find((row) => row.name === name)?.kind ?? 'url'
    const wanted = [...new Set([...names, ...needed])]
    const parameters = wanted.map((name) => ({ kind: kindOf(name), name, value: 'example', sensitive: false }))
    const fix = item && asked.first(`PUT ${path}/parameters`, { as, body: { parameters } })
    return { ...facts, needed, stored, names, fix }
  },
  async upstream_failed(asked) {
    const { item, facts } = await soldItem(asked)
    const payment = await asked.tx.get(payments, asked.numberFact('transaction_id') ?? 0)
    const amount = payment && (await shownAmount(asked.tx, payment.dq, payment.amount))
    return {
      ...{ ...facts, service_method: item?.service_method, upstream_ms: asked.service.limits.upstreamMs },
      endpoint: item?.external_endpoint ?? asked.sentText('serviceUrl'),
      payment: payment && { id: payment.id, status: payment.status, amount },
      price: payment && (await money(asked.tx, payment.dq, payment.amount)),
      calls: asked.entry.caused.flatMap(({ kind, id }) => (kind === 'upstream' ? String(id) : [])),
      fix: asked.corrected(withNewKey(asked)),
    }
  },
  too_many_calls(asked) {
    const most = asked.numberFact('most')
    return most === undefined ? { most: asked.service.limits.freeCalls, option: 'limits.freeCalls' } : { most }
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
    const again = facts.refund_status === 'unrefunded'
    return {
      ...facts,
      sent: asked.body.outcome,
      again,
      fix: asked.withFields({ outcome: again ? 'again' : 'returned' }),
    }
  },
  async cart_full(asked) {
    const { cart, lines } = await cartIn(asked)
    return { cart, lines: lines.length, most: 50, fix: newCart(asked) }
  },
  async cart_empty(asked) {
    const { cart, row, lines } = await cartIn(asked)
    const [item] = await asked.newest(catalogItems, 'listed', [], 1)
    const body = { catalog_item_id: item?.id, arguments: fittingArguments(item?.service_schema ?? {}) }
    const { principal: as } = asked.entry
    const fix = item && row && asked.first(`POST /v4/carts/${cart}/items`, { as, body })
    return { cart, lines: lines.length, lines_made: row?.lines_made, item: item?.id, fix }
  },
  async cart_closed(asked) {
    const { cart, row, lines } = await cartIn(asked)
    const receipts = lines.flatMap((line) => line.receipts)
    return { cart, ordered_at: row?.ordered_at, receipts, fix: newCart(asked) }
  },
  async cart_paying(asked) {
    const { cart } = await cartIn(asked)
    const { path, id } = asked.entry
    const other = await asked.findEarlier((each) => each.path === path && each.id !== id)
    const fix = asked.instead(`GET /v4/carts/${cart}`)
    return { cart, other: other?.id, other_at: other && Date.parse(other.at), fix }
  },
  async card_minimum(asked) {
    const [[dq, sum] = ['', 0n]] = (await priceOf(asked))?.sums ?? []
    const fix = asked.withFields({ payment_method_id: undefined })
    return { price: dq ? await money(asked.tx, dq, sum) : null, least: 0.5, fix }
  },
  async card_required(asked) {
    const { plan, card } = await subscriptionIn(asked)
    const account = asked.callerId('account')
    const facts = { account, owner: `account:${account}`, plan, plan_name: plans[plan].name, wanted: asked.body.plan }
    return { ...facts, card: card?.card, fix: withWorkingCard(asked) }
  },
  async card_in_use(asked) {
    const { plan, card, unpaid_invoice_id: unpaid_invoice } = await subscriptionIn(asked)
    const fix = asked.instead('PUT /v4/billing/card', { body: { payment_method_id: 'pm_card_mastercard' } })
    return { plan, plan_name: plans[plan].name, card: card?.card, unpaid_invoice, fix }
  },
  invoice_not_open: invoiceFacts,
  async invoice_unpaid(asked) {
    const { account, ...facts } = await invoiceFacts(asked)
    const parts = { as: `account:${account}`, body: { payment_method_id: 'pm_card_visa' } }
    return { ...facts, fix: account && asked.first(`POST /v4/billing/invoices/${facts.invoice}/pay`, parts) }
  },
  charge_pending: async (asked) => ({ ...(await invoiceFacts(asked)), fix: asked.later(60) }),
  async plan_limit_reached(asked) {
    const item = await itemIn(asked)
    const account = item?.account_id ?? Number(asked.callerOwner()?.split(':')[1] ?? (await likelyAccount(asked)) ?? 0)
    const { plan } = await subscriptionOf(asked.tx, account)
    const next = plan === 'free' ? plans.growth : plans.scale
    const counted = asked.textFact('of') === 'mcp_calls' ? 'mcp_calls' : 'active_items'
    const resets = asked.numberFact('resets_at')
    const [as, body] = [`account:${account}`, { plan: next.id, payment_method_id: 'pm_card_visa' }]
    return {
      ...{ account, owner: as, plan, plan_name: plans[plan].name, next_plan: next.name },
      ...{ counted: counted.replace('_', ' '), next_limit: next.limits[counted] ?? 'any number' },
      ...{ resets: resets && timeText(resets * 1000), fix: asked.first('PUT /v4/billing/plan', { as, body }) },
    }
  },
} satisfies Explainers

/**
 * The item that a request buys or changes: named, of the refused line of a cart, or by the commodity. `path` and `as`: how
 * its seller changes it.
 */
async function soldItem(asked: RefusedRequest) {
  const line = asked.numberFact('line')
  const isOfCart = line !== undefined && asked.operation?.path.startsWith('/carts/')
  const [row] = isOfCart ? await asked.rows(cartLines, 'byCart', [Number(asked.params.id), line], 1) : []
  const item = isOfCart ? await asked.get(catalogItems, row?.catalog_item_id) : await namedItem(asked)
  if (!item) return { item, facts: {}, path: '', as: '' }
  const { id, name, account_id: account, active, archived } = item
  const as = `account:${account}`
  const about = `Catalog item ${id}, “${name}”, belongs to ${await ownerText(asked.tx, as)}.`
  const facts = { about, item: id, name, account, active, private: item.private, archived }
  return { item, facts, path: `/v4/catalog/items/${id}`, as }
}

async function namedItem(asked: RefusedRequest): Promise<CatalogItemRow | undefined> {
  return (await itemIn(asked)) ?? itemSelling(asked, await commodityIn(asked))
}

/** A guest is named by a digest of the session, which says nothing to people. */
const payerText = (payer: string): string => (payer.startsWith('guest:') ? 'A guest' : payer)

/** The checkout of a request. Creates another link for the same item, whose token the next request uses. */
async function withNewLink(asked: RefusedRequest): Promise<Finding> {
  const checkout = await checkoutIn(asked)
  if (!checkout) return { about: 'No checkout has the token of the path any more.' }
  const { id, maker, name, dq, price, payer, attempt, attempt_at, catalog_item_id: item, expires_at } = checkout
  const by = maker === null ? '' : ` of ${await ownerText(asked.tx, maker)}`
  const body = { catalog_item_id: item, arguments: checkout.arguments }
  const next = asked.again({ path: asked.entry.path.replace(REDACTED, '{token}') })
  return {
    about: `Checkout ${id}${by} sells “${name}” for ${await money(asked.tx, dq, price)}.`,
    ...{ checkout: id, checkout_status: checkout.status, item, receipt: checkout.receipt_id, expires_at },
    ...{ payer: payer && payerText(payer), attempt_at: attempt && attempt_at },
    fix: asked.first('POST /v4/checkout', { as: maker, body, next }),
  }
}

async function refundFacts({ tx, params }: RefusedRequest): Promise<Finding> {
  const charge = await tx.get(checkoutCharges, Number(params.id))
  if (!charge) return { about: `The refund ${params.id}` }
  const { amount, status: refund_status, payer, charge_id, refusal } = charge
  const dq = (await tx.get(checkouts, charge.checkout_id))?.dq ?? ''
  const about = `The refund ${charge.id} of ${await money(tx, dq, amount)}`
  return {
    about,
    amount: await shownAmount(tx, dq, amount),
    refund_status,
    payer: payerText(payer),
    charge_id,
    refusal,
  }
}

async function cartIn(asked: RefusedRequest) {
  const id = Number(asked.params.id ?? asked.body.cart_id)
  const row = await asked.tx.get(carts, id)
  return { cart: row?.id, row, lines: await asked.rows(cartLines, 'byCart', [id]) }
}

/** Creates another cart, whose id the next request uses. */
function newCart(asked: RefusedRequest): Fix {
  const { principal: as, path } = asked.entry
  const next = asked.again({ path: path.replace(/carts\/\d+/, 'carts/{id}') })
  return asked.first('POST /v4/carts', { as, body: {}, next })
}

type Schema = CatalogItemRow['service_schema']

const argumentsOf = ({ properties, required }: Schema) => ({
  declared: isObject(properties) ? properties : {},
  required: Array.isArray(required) ? required.map(String) : [],
})

/** Arguments that fit an item as far as the types say: what was given and fits, and a sample for what is required. */
function fittingArguments(schema: Schema, given: FactsByName = {}, refused?: string): FactsByName {
  const { declared, required } = argumentsOf(schema)
  const fits = (name: string) => name in given && name !== refused && isOfType(given[name], declared[name])
  const names = Object.keys(declared).filter((name) => fits(name) || required.includes(name))
  return Object.fromEntries(names.map((name) => [name, fits(name) ? given[name] : sampleOf(declared[name])]))
}

const samples: FactsByName = { number: 1, integer: 1, boolean: true, array: [], object: {} }

function sampleOf(schema: unknown): unknown {
  if (!isObject(schema)) return 'text'
  if (Array.isArray(schema.enum)) return schema.enum[0]
  return 'default' in schema ? schema.default : (samples[String(schema.type)] ?? 'text')
}

function isOfType(value: unknown, schema: unknown): boolean {
  const type = isObject(schema) ? schema.type : undefined
  if (type === 'integer') return Number.isInteger(value)
  return type === 'string' || type === 'number' || type === 'boolean' ? typeof value === type : true
}
