import { type DelegateRow, delegates, isDelegateValid, revokedAt } from '../../../consent/personas/delegate.js'
import { delegateSpendings } from '../../../consent/personas/spending.js'
import { generationOf } from '../../../identity/users/user.js'
import { testMethods } from '../../../money/cards/test-values.js'
import type { CommodityRow } from '../../../money/commodities/commodity.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { balanceOf, balances, spendable } from '../../../money/ledger/movement.js'
import { primaryTwin, twinByHostname, twinNonces, twins } from '../../../money/twins/twin.js'
import { paybacks } from '../../../payments/payments/payback.js'
import { type PaymentRow, payments } from '../../../payments/payments/payment.js'
import { binderImports } from '../../../payments/statements/binder-import-row.js'
import { transfers } from '../../../payments/transfers/transfer.js'
import type { Finding, Fix } from '../facts/explanation.js'
import { commodityIn, itemSelling, priceOf, subscriptionIn } from '../facts/price.js'
import { type Explainers, REDACTED, type RefusedRequest, withWorkingCard } from '../facts/refused-request.js'
import { amounts, endText, holdings, money, ownerText, shownAmount } from '../facts/words.js'

/** Value that does not move, its proofs, transfers, binders and cards. */
export const paymentExplainers = {
  async insufficient_funds(asked) {
    const { tx } = asked
    const price = await priceOf(asked)
    const { payer, what } = price ?? {}
    const short = price && (await shortage(asked, price.sums, payer?.id))
    if (!payer || !short) return withoutTwin(asked)
    const { dq, missing, cost } = short
    const others = await asked.rows(twins, 'byOwner', [payer.owner], 5)
    const facts = { payer: await holdings(tx, payer, dq), what, twins: others.length, several: others.length > 1, dq }
    const [amount, lack] = await amounts(tx, dq, missing)
    const [shownCost, shownPrice] = await amounts(tx, dq, cost)
    const fix = asked.first('POST /_sandbox/fund', { body: { hostname: payer.hostname, amount, dq } })
    return { ...facts, cost: shownCost, price: shownPrice, missing: amount, lack, fix }
  },
  async same_twin(asked) {
    const price = await priceOf(asked)
    const { id, hostname, owner } = price?.payer ?? price?.payee ?? {}
    const others = await asked.rows(twins, 'byOwner', [owner ?? ''], 5)
    const other = others.find((twin) => twin.id !== id)?.hostname
    const takesHostname = 'hostname' in (asked.operation?.body?.shape ?? {})
    const body = other !== undefined && takesHostname ? { hostname: other } : await anotherPayee(asked, owner)
    return { hostname, owner, other, fix: body && asked.withFields(body) }
  },
  async dq_unknown(asked) {
    const dq = asked.sentText('dq')
    const known = await asked.rows(digitalQuantities, 'byNumber', [], 20)
    const meant = known.find(({ shortcode, name }) => [shortcode, name].includes(dq ?? '')) ?? known[0]
    const fix = meant && asked.corrected(asked.withParameter('dq', meant.id))
    const shown = known.map(({ id, shortcode, decimals }) => ({ dq: id, shortcode, decimals }))
    return { dq, shortcodes: known.map(({ shortcode }) => shortcode), known: shown, fix }
  },
  async destination_unknown(asked) {
    const own = asked.callerOwner()
    const known = (await asked.newest(twins, 'id', []))
      .filter(({ owner }) => owner.startsWith('account:') && owner !== own)
      .map(({ hostname, owner }) => ({ hostname, owner }))
    const shown = known.slice(0, 5)
    const fix = known[0] && asked.withFields({ destination: known[0].hostname })
    const hostnames = shown.map(({ hostname }) => hostname)
    return { destination: asked.sent('destination'), hostnames, known: shown, fix }
  },
  async price_changed(asked) {
    const { price, dq, lines } = asked.facts
    const commodity = await commodityIn(asked)
    const name = 'cost' in asked.body || asked.entry.operation_id === 'createPayment' ? 'cost' : 'price'
    const seen = asked.body[name] ?? asked.body.price ?? asked.body.lines
    const present = asked.body.lines === undefined ? { accept_prices: true } : { lines }
    const now = commodity && (await money(asked.tx, commodity.dq, commodity.cost))
    const fix = asked.withFields(lines ? present : { [name]: price, dq })
    return { seen, hash: commodity?.id, descriptor: commodity?.descriptor, now, fix }
  },
  async payback_only(asked) {
    const commodity = await commodityIn(asked)
    if (!commodity) return {}
    const { id: hash, descriptor, owner: seller, dq, cost } = commodity
    const fix = asked.instead(`POST /v4/payback/${hash}`, { body: {} })
    return { hash, descriptor, payback: true, seller, price: await money(asked.tx, dq, cost), fix }
  },
  async payback_refused(asked) {
    const { commodity, item } = await soldCommodity(asked)
    const { id: hash, descriptor, owner: seller } = commodity ?? {}
    const parts = { as: seller, body: { enabled: true } }
    const fix = hash && !item && asked.first(`PUT /v4/commodity/${hash}/payback`, parts)
    return { hash, descriptor, seller, payback: false, item: item?.id, fix }
  },
  async sold_by_item(asked) {
    const { commodity, item } = await soldCommodity(asked)
    if (!commodity) return {}
    const { id: hash, descriptor, twin_id, dq, owner: as } = commodity
    const body = { descriptor: 'READER.REWARD', dq, cost: 0.1, twin_id, payback: true }
    const fix = asked.instead('POST /v4/commodity', { as, body })
    return { hash, descriptor, twin_id, item: item?.id, fix }
  },
  async payback_taken(asked) {
    const { id: hash, descriptor } = (await commodityIn(asked)) ?? {}
    const user = asked.callerOwner()
    const taken = user ? await asked.get(paybacks, `${hash}:${user}`) : undefined
    const { id, created_at } = (await asked.get(payments, taken?.payment_id)) ?? {}
    const fix = id && asked.instead(`GET /v4/payments/${id}`, { as: user })
    return { hash, descriptor, user, payment: id, paid_at: created_at, fix }
  },
  async delegate_required(asked) {
    const found = await delegatesFor(asked)
    const shown = found.map(({ persona, issue, persona_owner: owner }) => ({ persona, issue, owner }))
    return { delegates: shown, fix: found.length > 0 && withDelegate(asked) }
  },
  async delegate_refused(asked) {
    const row = await asked.tx.get(delegates, asked.sentDelegate() ?? '')
    if (!row?.spend) {
      const [usable] = await delegatesFor(asked)
      const { persona, issue } = usable ?? {}
      return { exists: row !== undefined, usable: usable && { persona, issue }, fix: usable && withDelegate(asked) }
    }
    const { tx } = asked
    const { persona, issue, persona_owner: owner, hostname, spend } = row
    const { party, period, expires_at } = spend
    const day = new Date(asked.at).toISOString().slice(0, period === 'day' ? 10 : 7)
    const spent = (await tx.get(delegateSpendings, `${row.id}:${period === null ? 'all' : day}`))?.spent ?? '0'
    const price = await priceOf(asked)
    const [[dq, cost] = [spend.dq, 0n]] = price?.sums ?? []
    const needed = BigInt(spent) + cost
    const limit = await shownAmount(tx, dq, BigInt(spend.limit) > needed ? BigInt(spend.limit) : needed)
    const body = { hostname, spend: { party, dq, limit, period } }
    const next = asked.again({ body: { persona_delegate: '{hash}' } })
    const [allowed, allowance] = await amounts(tx, spend.dq, spend.limit)
    const [shownSpent, spending] = await amounts(tx, spend.dq, spent)
    const [shownCost, shownPrice] = price ? await amounts(tx, dq, cost) : []
    return {
      ...{ persona, issue, owner, party, dq: spend.dq, period, other_dq: dq !== spend.dq, what: price?.what },
      ...{ limit: allowed, allowance, spent: shownSpent, spending, cost: shownCost, price: shownPrice },
      left: await shownAmount(tx, spend.dq, BigInt(spend.limit) - BigInt(spent)),
      ...{ revoked_at: await revokedAt(tx, row), expires_at },
      fix: asked.first(`POST /v4/persona/${persona}/delegate`, { as: owner, body, next }),
    }
  },
  async nonce_unknown(asked) {
    const { commodity, found, payment } = await paymentsOf(asked)
    const elsewhere = await paymentAt(asked)
    const isElsewhere = elsewhere !== undefined && elsewhere.hash !== commodity?.id
    const path = asked.entry.path.replace(asked.params.hash ?? '', elsewhere?.hash ?? '')
    const { fix: pay, hash } = payAgain(asked, commodity, payment)
    return {
      ...{ hash, descriptor: commodity?.descriptor, timestamp: asked.sentNumber('timestamp') },
      ...{ payments: found.map(paymentFacts), elsewhere: isElsewhere ? paymentFacts(elsewhere) : null },
      fix: isElsewhere ? asked.corrected({ path }) : pay,
    }
  },
  async nonce_used(asked) {
    const { commodity, payment } = await paymentsOf(asked, ({ nonce_used_at }) => nonce_used_at !== null)
    const [path] = asked.entry.path.split('?')
    const earlier = await asked.findEarlier(
      (each) => each.operation_id === 'validatePayment' && each.status === 200 && each.path.split('?')[0] === path,
    )
    return { ...payAgain(asked, commodity, payment), used_by: earlier?.id, used_at: payment?.nonce_used_at }
  },
  async nonce_expired(asked) {
    const { commodity, payment } = await paymentsOf(asked, ({ nonce_used_at }) => nonce_used_at === null)
    const { nonceSeconds: nonce_seconds } = asked.service.limits
    return { ...payAgain(asked, commodity, payment), expires_at: payment?.nonce_expires_at, nonce_seconds }
  },
  async twin_nonce_refused(asked) {
    const hostname = asked.sentText('hostname') ?? ''
    const { id = 0, owner = '' } = (await twinByHostname(asked.tx, hostname)) ?? {}
    const open = await asked.newest(twinNonces, 'byTwin', [id], 20)
    const generation = await generationOf(asked.tx, owner)
    const current = open.filter((nonce) => nonce.expires_at > asked.at && nonce.generation === generation)
    const renew = { as: owner, body: { hostname }, next: asked.again({ body: { nonce: '{nonce}' } }) }
    const fix = owner && asked.first('POST /v2/twin/nonce', renew)
    return { hostname, owner: owner || null, unused: current.length, fix }
  },
  async not_invited(asked) {
    const { transfer, facts } = await transferIn(asked)
    const parts = { as: null, body: { email: transfer?.address } }
    return { ...facts, fix: transfer && asked.instead('POST /_sandbox/sign-in', parts) }
  },
  async transfer_settled(asked) {
    const { transfer, facts, sendAgain } = await transferIn(asked)
    const is_claim = asked.entry.operation_id === 'claimTransfer'
    return { ...facts, is_claim, completed: transfer?.status === 'completed', fix: is_claim ? sendAgain : undefined }
  },
  async transfer_expired(asked) {
    const { facts, sendAgain: fix } = await transferIn(asked)
    return { ...facts, fix }
  },
  async binder_refused(asked) {
    const { tx } = asked
    const { hostname = '' } = asked.params
    const { id = 0, owner = '', dq: of } = (await twinByHostname(tx, hostname)) ?? {}
    const rows = await asked.rows(balances, 'byTwin', [id], 20)
    const full = rows.filter(({ amount, held }) => amount !== '0' || held !== '0')
    const holds = await Promise.all(full.map(({ dq, amount }) => money(tx, dq, amount)))
    const amounts = await Promise.all(full.map(({ dq, amount }) => shownAmount(tx, dq, amount)))
    const next = asked.again({ path: asked.entry.path.replace(hostname, '{hostname}') })
    const fix = /^(account|user):/.test(owner) && asked.first('POST /v4/twin', { as: owner, body: { dq: of }, next })
    return {
      hostname,
      owner: owner || null,
      holds,
      balances: full.map(({ dq }, i) => ({ dq, amount: amounts[i] })),
      fix,
    }
  },
  import_in_progress: async (asked) => ({ ...(await importFacts(asked)), fix: asked.corrected() }),
  async import_ended(asked) {
    const { owner: as, ...facts } = await importFacts(asked)
    return { ...facts, fix: asked.first(`GET /v4/twin/${facts.hostname}/binder`, { as }) }
  },
  async card_declined(asked) {
    const method = asked.sentText('payment_method_id') ?? (await subscriptionIn(asked)).card?.payment_method_id
    const known = testMethods.find(({ value }) => value === method)
    return { ...cardFacts(asked, method), test_value: known?.does, fix: withWorkingCard(asked) }
  },
  processor_failed(asked) {
    const pending = asked.textFact('outcome') === 'unknown'
    const payment_method_id = asked.sentText('payment_method_id')
    const facts = { ...cardFacts(asked, payment_method_id), processor: asked.service.cards !== undefined, pending }
    const fix = pending ? asked.later(60) : withWorkingCard(asked)
    return { ...facts, method: payment_method_id ?? 'the card on file', fix }
  },
} satisfies Explainers

const cardFacts = (asked: RefusedRequest, payment_method_id: string | undefined) => ({
  payment_method_id,
  ...{ payment: asked.numberFact('payment_id'), invoice: asked.numberFact('invoice_id') },
})

async function soldCommodity(asked: RefusedRequest) {
  const commodity = await commodityIn(asked)
  return { commodity, item: await itemSelling(asked, commodity) }
}

/** The first digital quantity of which the payer has too little, and how much is missing. */
async function shortage({ tx }: RefusedRequest, sums: ReadonlyMap<string, bigint>, payer: number | undefined) {
  for (const [dq, cost] of sums) {
    const missing = cost - (payer === undefined ? 0n : spendable(await balanceOf(tx, payer, dq)))
    if (missing > 0n) return { dq, cost, missing }
  }
  return undefined
}

/** The payer has no twin, or the journal does not show which twin pays. */
async function withoutTwin(asked: RefusedRequest): Promise<Finding> {
  const owner = asked.callerOwner()
  const twin = owner === null ? undefined : await primaryTwin(asked.tx, owner)
  const [quantity] = await asked.rows(digitalQuantities, 'byNumber', [], 1)
  if (!twin) return { owner, fix: quantity && asked.first('POST /v4/twin', { as: owner, body: { dq: quantity.id } }) }
  const payer = quantity && (await holdings(asked.tx, twin, quantity.id))
  const fix = asked.first('POST /_sandbox/fund', { body: { hostname: twin.hostname, amount: 100 } })
  return { payer, owner, fix }
}

/** The field of a payee with a twin of someone else, for calls that name one. */
async function anotherPayee(asked: RefusedRequest, owner: string | undefined) {
  const name = ['destination', 'address'].find((each) => each in asked.body)
  const found = await asked.rows(twins, 'id', [])
  const other = found.find((twin) => /^(account|user):/.test(twin.owner) && twin.owner !== owner)
  return name === undefined || !other ? undefined : { [name]: other.hostname }
}

async function delegatesFor(asked: RefusedRequest): Promise<DelegateRow[]> {
  const account = asked.callerId('account')
  const found = await asked.rows(twins, 'byOwner', [`account:${account}`], 20)
  const valid: DelegateRow[] = []
  for (const { id } of found)
    for (const row of await asked.newest(delegates, 'byTwin', [id], 20))
      if (row.spend !== null && (await isDelegateValid(asked.tx, row))) valid.push(row)
  return valid
}

/** The request again, with a delegate whose hash the list of its persona shows to its owner. */
const withDelegate = (asked: RefusedRequest): Fix => asked.withFields({ persona_delegate: REDACTED })

const isAtTime = (asked: RefusedRequest, { created_at }: PaymentRow): boolean =>
  [created_at, Math.floor(created_at / 1000)].includes(asked.sentNumber('timestamp') ?? -1)

/** The payments for a commodity, the newest first, and the one that the timestamp names or else the newest that fits. */
async function paymentsOf(asked: RefusedRequest, fits: (payment: PaymentRow) => boolean = () => true) {
  const commodity = await commodityIn(asked)
  const found = await asked.newest(payments, 'byCommodity', [commodity?.id ?? ''], 20)
  const payment = found.find((each) => isAtTime(asked, each) && fits(each)) ?? found.find(fits)
  return { commodity, found, payment }
}

/** A payment of any of the seller's commodities that has the timestamp of the request. */
async function paymentAt(asked: RefusedRequest): Promise<PaymentRow | undefined> {
  const found = await asked.newest(payments, 'byPayee', [asked.entry.principal ?? ''], 100)
  return found.find((payment) => isAtTime(asked, payment))
}

const paymentFacts = ({ id, hash, created_at: timestamp, payer_owner: payer, status }: PaymentRow) => ({
  ...{ id, hash, payer, status, timestamp },
})

/** A payment for a commodity. Pays again, and then validates the new nonce. */
function payAgain(asked: RefusedRequest, commodity: CommodityRow | undefined, last: PaymentRow | undefined) {
  const next = asked.again({ body: { nonce: '{nonce}', timestamp: '{timestamp}' } })
  const hash = commodity?.id
  const fix = hash && asked.first(`POST /v4/payment/${hash}`, { as: last?.payer_owner, body: {}, next })
  return { hash, payment: last && paymentFacts(last), fix }
}

async function transferIn(asked: RefusedRequest) {
  const { tx, at } = asked
  const transfer = await tx.get(transfers, Number(asked.params.id))
  if (!transfer) return { transfer, facts: {}, sendAgain: undefined }
  const { id, dq, amount, sender_owner: sender, recipient_owner: recipient, address, status, expires_at } = transfer
  const isOver = expires_at !== null && expires_at <= at && status === 'invited'
  const end = isOver ? `. The invitation ${endText(expires_at, at)}` : ''
  const about = `Transfer ${id} of ${await money(tx, dq, amount)} from ${await ownerText(tx, sender)} to ${address} was \`${status}\`${end}.`
  const body = { address, amount: await shownAmount(tx, dq, amount), dq }
  const sendAgain = asked.instead('POST /v4/transfer', { as: sender, body })
  return { transfer, facts: { about, transfer: id, status, address, sender, recipient, expires_at }, sendAgain }
}

async function importFacts({ tx, params: { hostname = '' } }: RefusedRequest) {
  const twin = await twinByHostname(tx, hostname)
  const row = twin && (await tx.get(binderImports, twin.id))
  return { hostname, owner: twin?.owner, state: row?.state, pieces: row?.pieces }
}
