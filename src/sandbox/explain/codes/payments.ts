import { type DelegateRow, delegates, isDelegateValid, revokedAt } from '../../../consent/personas/delegate.js'
import { delegateSpendings } from '../../../consent/personas/spending.js'
import { generationOf } from '../../../identity/users/user.js'
import { catalogItems } from '../../../market/catalog/item-row.js'
import { testMethods } from '../../../money/cards/test-values.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { balanceOf, balances, spendable } from '../../../money/ledger/balance.js'
import { primaryTwin, twinByHostname, twinNonces, twins } from '../../../money/twins/twin.js'
import { paybacks } from '../../../payments/payments/payback.js'
import { type PaymentRow, payments } from '../../../payments/payments/payment.js'
import { binderImports } from '../../../payments/statements/binder-import-row.js'
import { type TransferRow, transfers } from '../../../payments/transfers/transfer.js'
import type { Explainers } from '../facts/explainer.js'
import type { Finding, Fix } from '../facts/explanation.js'
import { cardOnFile } from '../facts/plan.js'
import { commodityIn, priceOf } from '../facts/price.js'
import { type Fields, REDACTED, type RefusedRequest } from '../facts/refused-request.js'
import { endText, holdings, money, ownerText, shownAmount, timeText } from '../facts/words.js'

/** Value that does not move, its proofs, transfers, binders and cards. */
export const paymentExplainers = {
  async insufficient_funds(asked) {
    const price = await priceOf(asked)
    const short = price && (await shortage(asked, price.sums, price.payer?.id))
    if (!price?.payer || !short) return withoutTwin(asked)
    const { dq, missing, cost } = short
    const { payer, what } = price
    const others = await asked.tx.find(twins, { index: 'byOwner', prefix: [payer.owner], limit: 5 })
    const amount = await shownAmount(asked.tx, dq, missing)
    return {
      ...{ payer: await holdings(asked.tx, payer, dq), what, twins: others.length, several: others.length > 1, dq },
      ...{ cost: await shownAmount(asked.tx, dq, cost), price: await money(asked.tx, dq, cost) },
      ...{ missing: amount, lack: await money(asked.tx, dq, missing) },
      fix: fundFirst(asked, { hostname: payer.hostname, amount, dq }),
    }
  },

  async same_twin(asked) {
    const price = await priceOf(asked)
    const twin = price?.payer ?? price?.payee
    const others = twin ? await asked.tx.find(twins, { index: 'byOwner', prefix: [twin.owner], limit: 5 }) : []
    const other = others.find(({ id }) => id !== twin?.id)?.hostname
    const takesHostname = 'hostname' in (asked.operation?.body?.shape ?? {})
    return {
      ...{ hostname: twin?.hostname, owner: twin?.owner, other },
      fix:
        other !== undefined && takesHostname
          ? asked.corrected({ body: { hostname: other } })
          : await toAnotherTwin(asked, twin?.owner),
    }
  },

  async dq_unknown(asked) {
    const dq = asked.sentText('dq')
    const known = await asked.tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 20 })
    const meant = known.find(({ shortcode, name }) => [shortcode, name].includes(dq ?? '')) ?? known[0]
    const change = { ['dq' in asked.query ? 'query' : 'body']: { dq: meant?.id } }
    return {
      ...{ dq, shortcodes: known.map(({ shortcode }) => shortcode), fix: meant && asked.corrected(change) },
      known: known.map(({ id, shortcode, decimals }) => ({ dq: id, shortcode, decimals })),
    }
  },

  async destination_unknown(asked) {
    const newest = await asked.tx.find(twins, { index: 'id', prefix: [], limit: 50, reverse: true })
    const own = asked.callerOwner()
    const known = newest.filter(({ owner }) => owner.startsWith('account:') && owner !== own).slice(0, 5)
    return {
      ...{ destination: asked.sent('destination'), hostnames: known.map(({ hostname }) => hostname) },
      known: known.map(({ hostname, owner }) => ({ hostname, owner })),
      fix: known[0] && asked.corrected({ body: { destination: known[0].hostname } }),
    }
  },

  async price_changed(asked) {
    const { price, dq, lines } = asked.facts
    const commodity = await commodityIn(asked)
    const name = 'cost' in asked.body || asked.entry.operation_id === 'createPayment' ? 'cost' : 'price'
    const seen = asked.body[name] ?? asked.body.price ?? asked.body.lines
    const present = asked.body.lines === undefined ? { accept_prices: true } : { lines }
    return {
      ...{ seen, hash: commodity?.id, descriptor: commodity?.descriptor },
      now: commodity && (await money(asked.tx, commodity.dq, commodity.cost)),
      fix: asked.corrected({ body: lines ? present : { [name]: price, dq } }),
    }
  },

  async payback_only(asked) {
    const commodity = await commodityIn(asked)
    if (!commodity) return {}
    const { id: hash, descriptor, owner: seller, dq, cost } = commodity
    const example = { method: 'POST', path: `/v4/payback/${hash}`, as: asked.entry.principal ?? '', body: {} }
    const fix = { operation_id: 'createPayback', example, next: null }
    return { hash, descriptor, payback: true, seller, price: await money(asked.tx, dq, cost), fix }
  },

  async payback_refused(asked) {
    const { commodity, item } = await soldCommodity(asked)
    const path = `/v4/commodity/${commodity?.id}/payback`
    const example = { method: 'PUT', path, as: commodity?.owner ?? '', body: { enabled: true } }
    return {
      ...{ hash: commodity?.id, descriptor: commodity?.descriptor, seller: commodity?.owner, payback: false },
      ...{ item: item?.id, fix: commodity && !item ? asked.first('updatePayback', example) : undefined },
    }
  },

  async sold_by_item(asked) {
    const { commodity, item } = await soldCommodity(asked)
    if (!commodity) return {}
    const { id: hash, descriptor, twin_id, dq, owner: as } = commodity
    const body = { descriptor: 'READER.REWARD', dq, cost: 0.1, twin_id, payback: true }
    const example = { method: 'POST', path: '/v4/commodity', as, body }
    return { hash, descriptor, twin_id, item: item?.id, fix: { operation_id: 'createCommodity', example, next: null } }
  },

  async payback_taken(asked) {
    const commodity = await commodityIn(asked)
    const user = asked.callerOwner()
    const taken = commodity && user && (await asked.tx.get(paybacks, `${commodity.id}:${user}`))
    const payment = taken ? await asked.tx.get(payments, taken.payment_id) : undefined
    const example = { method: 'GET', path: `/v4/payments/${payment?.id}`, as: user ?? '' }
    return {
      ...{ hash: commodity?.id, descriptor: commodity?.descriptor, user, payment: payment?.id },
      paid_at: payment && timeText(payment.created_at),
      fix: payment && { operation_id: 'readPayment', example, next: null },
    }
  },

  async delegate_required(asked) {
    const found = await delegatesFor(asked)
    const fix = found.length > 0 ? withDelegate(asked) : undefined
    return { delegates: found.map(({ persona, issue, persona_owner: owner }) => ({ persona, issue, owner })), fix }
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
    const ended = await revokedAt(tx, row)
    const example = {
      ...{ method: 'POST', path: `/v4/persona/${persona}/delegate`, as: owner },
      body: { hostname, spend: { party, dq, limit, period } },
    }
    return {
      ...{ persona, issue, owner, party, dq: spend.dq, period, other_dq: dq !== spend.dq, what: price?.what },
      ...{ limit: await shownAmount(tx, spend.dq, spend.limit), allowance: await money(tx, spend.dq, spend.limit) },
      ...{ spent: await shownAmount(tx, spend.dq, spent), spending: await money(tx, spend.dq, spent) },
      left: await shownAmount(tx, spend.dq, BigInt(spend.limit) - BigInt(spent)),
      cost: price && (await shownAmount(tx, dq, cost)),
      price: price && (await money(tx, dq, cost)),
      revoked_at: ended === null ? null : timeText(ended),
      expires_at: expires_at === null ? null : timeText(expires_at),
      fix: asked.first('createDelegate', example, asked.again({ body: { persona_delegate: '{hash}' } })),
    }
  },

  async nonce_unknown(asked) {
    const { commodity, found, payment } = await paymentsOf(asked)
    const elsewhere = await paymentAt(asked)
    const isElsewhere = elsewhere !== undefined && elsewhere.hash !== commodity?.id
    const path = asked.entry.path.replace(asked.params.hash ?? '', elsewhere?.hash ?? '')
    return {
      ...{ hash: commodity?.id, descriptor: commodity?.descriptor, timestamp: asked.sentNumber('timestamp') },
      ...{ payments: found.map(paymentFacts), elsewhere: isElsewhere ? paymentFacts(elsewhere) : null },
      fix: isElsewhere ? asked.corrected({ path }) : commodity && payAgain(asked, commodity.id, payment),
    }
  },

  async nonce_used(asked) {
    const { commodity, payment } = await paymentsOf(asked, ({ nonce_used_at }) => nonce_used_at !== null)
    const { path } = asked.entry
    const earlier = await asked.findEarlier(
      (each) => each.operation_id === 'validatePayment' && each.status === 200 && samePath(each.path, path),
    )
    return {
      ...{ hash: commodity?.id, payment: payment && paymentFacts(payment), used_by: earlier?.id },
      used_at: payment?.nonce_used_at == null ? null : timeText(payment.nonce_used_at),
      fix: commodity && payAgain(asked, commodity.id, payment),
    }
  },

  async nonce_expired(asked) {
    const { commodity, payment } = await paymentsOf(asked, ({ nonce_used_at }) => nonce_used_at === null)
    return {
      ...{ hash: commodity?.id, payment: payment && paymentFacts(payment) },
      expires_at: payment?.nonce_expires_at == null ? null : timeText(payment.nonce_expires_at),
      nonce_seconds: asked.service.limits.nonceSeconds,
      fix: commodity && payAgain(asked, commodity.id, payment),
    }
  },

  async twin_nonce_refused(asked) {
    const hostname = asked.sentText('hostname') ?? ''
    const twin = await twinByHostname(asked.tx, hostname)
    const prefix = [twin?.id ?? 0]
    const open = await asked.tx.find(twinNonces, { index: 'byTwin', prefix, limit: 20, reverse: true })
    const generation = await generationOf(asked.tx, twin?.owner ?? '')
    const current = open.filter((nonce) => nonce.expires_at > asked.at && nonce.generation === generation)
    const example = { method: 'POST', path: '/v2/twin/nonce', as: twin?.owner ?? '', body: { hostname } }
    const next = asked.again({ body: { nonce: '{nonce}' } })
    const fix = twin && asked.first('createTwinNonce', example, next)
    return { hostname, owner: twin?.owner, unused: current.length, fix }
  },

  async not_invited(asked) {
    const transfer = await transferIn(asked)
    const example = { method: 'POST', path: '/_sandbox/sign-in', body: { email: transfer?.address } }
    const fix = transfer && { operation_id: 'signInAsUser', example, next: null }
    return { ...(await transferFacts(asked, transfer)), fix }
  },

  async transfer_settled(asked) {
    const transfer = await transferIn(asked)
    const is_claim = asked.entry.operation_id === 'claimTransfer'
    const fix = is_claim && transfer ? await sendAgain(asked, transfer) : undefined
    return { ...(await transferFacts(asked, transfer)), is_claim, completed: transfer?.status === 'completed', fix }
  },

  async transfer_expired(asked) {
    const transfer = await transferIn(asked)
    return { ...(await transferFacts(asked, transfer)), fix: transfer && (await sendAgain(asked, transfer)) }
  },

  async binder_refused(asked) {
    const { tx } = asked
    const twin = await twinByHostname(tx, asked.params.hostname ?? '')
    const rows = await tx.find(balances, { index: 'byTwin', prefix: [twin?.id ?? 0], limit: 20 })
    const full = rows.filter(({ amount, held }) => amount !== '0' || held !== '0')
    const example = { method: 'POST', path: '/v4/twin', as: twin?.owner ?? '', body: { dq: twin?.dq } }
    const next = asked.again({ path: asked.entry.path.replace(twin?.hostname ?? '', '{hostname}') })
    return {
      ...{ hostname: asked.params.hostname, owner: twin?.owner },
      holds: await Promise.all(full.map(({ dq, amount }) => money(tx, dq, amount))),
      balances: await Promise.all(
        full.map(async ({ dq, amount }) => ({ dq, amount: await shownAmount(tx, dq, amount) })),
      ),
      fix: /^(account|user):/.test(twin?.owner ?? '') ? asked.first('createTwin', example, next) : undefined,
    }
  },

  async import_in_progress(asked) {
    return { ...(await importFacts(asked)), fix: asked.corrected({}) }
  },

  async import_ended(asked) {
    const { owner, ...facts } = await importFacts(asked)
    const example = { method: 'GET', path: `/v4/twin/${facts.hostname}/binder`, ...(owner && { as: owner }) }
    return { ...facts, fix: asked.first('readBinder', example) }
  },

  async card_declined(asked) {
    const method = asked.sentText('payment_method_id') ?? (await cardOnFile(asked))
    const known = testMethods.find(({ value }) => value === method)
    return { ...cardFacts(asked, method), test_value: known?.does, fix: withWorkingCard(asked) }
  },

  processor_failed(asked) {
    const pending = asked.textFact('outcome') === 'unknown'
    const payment_method_id = asked.sentText('payment_method_id')
    return {
      ...{ ...cardFacts(asked, payment_method_id), processor: asked.service.cards !== undefined, pending },
      method: payment_method_id ?? 'the card on file',
      fix: pending ? asked.later(60) : withWorkingCard(asked),
    }
  },
} satisfies Explainers

const samePath = (one: string, other: string): boolean => one.split('?')[0] === other.split('?')[0]

const cardFacts = (asked: RefusedRequest, payment_method_id: string | undefined) => ({
  payment_method_id,
  ...{ payment: asked.numberFact('payment_id'), invoice: asked.numberFact('invoice_id') },
})

const withWorkingCard = (asked: RefusedRequest): Fix => asked.corrected({ body: { payment_method_id: 'pm_card_visa' } })

const fundFirst = (asked: RefusedRequest, body: Fields): Fix =>
  asked.first('fundTwin', { method: 'POST', path: '/_sandbox/fund', body })

/** The commodity that a request names, and the item that sells it. */
async function soldCommodity(asked: RefusedRequest) {
  const commodity = await commodityIn(asked)
  const prefix = [commodity?.id ?? '']
  const [item] = await asked.tx.find(catalogItems, { index: 'byCommodity', prefix, limit: 1 })
  return { commodity, item }
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
  const [quantity] = await asked.tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1 })
  const payer = twin && quantity && (await holdings(asked.tx, twin, quantity.id))
  if (twin) return { payer, owner, fix: fundFirst(asked, { hostname: twin.hostname, amount: 100 }) }
  const example = { method: 'POST', path: '/v4/twin', ...(owner && { as: owner }), body: { dq: quantity?.id } }
  return { owner, fix: quantity && asked.first('createTwin', example) }
}

/** The payment to a twin of someone else, for calls that name their payee. */
async function toAnotherTwin(asked: RefusedRequest, owner: string | undefined): Promise<Fix | undefined> {
  const name = ['destination', 'address'].find((each) => each in asked.body)
  const found = await asked.tx.find(twins, { index: 'id', prefix: [], limit: 50 })
  const other = found.find((twin) => /^(account|user):/.test(twin.owner) && twin.owner !== owner)
  return name === undefined || !other ? undefined : asked.corrected({ body: { [name]: other.hostname } })
}

/** Delegates that let the calling account spend, the newest first. */
async function delegatesFor(asked: RefusedRequest): Promise<DelegateRow[]> {
  const account = asked.callerId('account')
  const found = await asked.tx.find(twins, { index: 'byOwner', prefix: [`account:${account}`], limit: 20 })
  const valid: DelegateRow[] = []
  for (const { id } of found)
    for (const row of await asked.tx.find(delegates, { index: 'byTwin', prefix: [id], limit: 20, reverse: true }))
      if (row.spend !== null && (await isDelegateValid(asked.tx, row))) valid.push(row)
  return valid
}

/** The request again, with a delegate whose hash the list of its persona shows to its owner. */
const withDelegate = (asked: RefusedRequest): Fix => asked.corrected({ body: { persona_delegate: REDACTED } })

const isAtTime = (asked: RefusedRequest, { created_at }: PaymentRow): boolean =>
  [created_at, Math.floor(created_at / 1000)].includes(asked.sentNumber('timestamp') ?? -1)

/** The payments for a commodity, the newest first, and the one that the timestamp names or else the newest that fits. */
async function paymentsOf(asked: RefusedRequest, fits: (payment: PaymentRow) => boolean = () => true) {
  const commodity = await commodityIn(asked)
  const prefix = [commodity?.id ?? '']
  const found = await asked.tx.find(payments, { index: 'byCommodity', prefix, limit: 20, reverse: true })
  const payment = found.find((each) => isAtTime(asked, each) && fits(each)) ?? found.find(fits)
  return { commodity, found, payment }
}

/** A payment of any of the seller's commodities that has the timestamp of the request. */
async function paymentAt(asked: RefusedRequest): Promise<PaymentRow | undefined> {
  const prefix = [asked.entry.principal ?? '']
  const found = await asked.tx.find(payments, { index: 'byPayee', prefix, limit: 100, reverse: true })
  return found.find((payment) => isAtTime(asked, payment))
}

/** A payment without its proof. */
const paymentFacts = ({ id, hash, created_at: timestamp, payer_owner: payer, status }: PaymentRow) => ({
  ...{ id, hash, payer, status, timestamp },
})

/** Pays again, and then validates the new nonce. */
const payAgain = (asked: RefusedRequest, hash: string, last: PaymentRow | undefined): Fix =>
  asked.first(
    'createPayment',
    { method: 'POST', path: `/v4/payment/${hash}`, ...(last && { as: last.payer_owner }), body: {} },
    asked.again({ body: { nonce: '{nonce}', timestamp: '{timestamp}' } }),
  )

const transferIn = (asked: RefusedRequest): Promise<TransferRow | undefined> =>
  asked.tx.get(transfers, Number(asked.params.id))

async function transferFacts({ tx, at }: RefusedRequest, transfer: TransferRow | undefined): Promise<Finding> {
  if (!transfer) return {}
  const { id, dq, amount, sender_owner: sender, recipient_owner: recipient, address, status, expires_at } = transfer
  const isOver = expires_at !== null && expires_at <= at && status === 'invited'
  const end = isOver ? `. The invitation ${endText(expires_at, at)}` : ''
  return {
    about: `Transfer ${id} of ${await money(tx, dq, amount)} from ${await ownerText(tx, sender)} to ${address} was \`${status}\`${end}.`,
    ...{ transfer: id, status, address, sender, recipient },
    expires_at: expires_at === null ? null : timeText(expires_at),
  }
}

async function sendAgain({ tx }: RefusedRequest, { sender_owner: as, address, dq, amount }: TransferRow): Promise<Fix> {
  const body = { address, amount: await shownAmount(tx, dq, amount), dq }
  return { operation_id: 'createTransfer', example: { method: 'POST', path: '/v4/transfer', as, body }, next: null }
}

async function importFacts({ tx, params: { hostname = '' } }: RefusedRequest) {
  const twin = await twinByHostname(tx, hostname)
  const row = twin && (await tx.get(binderImports, twin.id))
  return { hostname, owner: twin?.owner, state: row?.state, pieces: row?.pieces }
}
