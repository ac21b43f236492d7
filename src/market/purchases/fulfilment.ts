import { callingAccount } from '../../base/owner.js'
import { Problem, problem } from '../../base/problem.js'
import { base64url } from '../../base/secrets.js'
import { checkHops } from '../../base/via.js'
import { actorOf, ownerOfParty } from '../../consent/personas/spending.js'
import { type ServiceContext, type StoreAnswer, storeNothing } from '../../http/context.js'
import { type FlowRun, runFlow } from '../../jobs/flows/flow.js'
import { callUpstream, readWhole, UpstreamFailure } from '../../jobs/upstream/call.js'
import { checkUpstreamUrl } from '../../jobs/upstream/policy.js'
import type { PriceQuote } from '../../money/commodities/commodity.js'
import { type HeldPayment, heldPayments, reversePayment, settlePayment } from '../../payments/payments/held-payment.js'
import { bearerOf, type PayingCaller, spendPayer } from '../../payments/payments/payer.js'
import type { Writer } from '../../storage/storage.js'
import { ownItem } from '../catalog/item.js'
import type { CatalogItemRow } from '../catalog/item-row.js'
import { decryptParameters } from '../catalog/parameter.js'
import { type Arguments, checkArguments } from '../catalog/schema.js'
import {
  type Admission,
  beginPurchase,
  callOf,
  checkPrice,
  endpointRequest,
  type HeldPurchase,
  purchaseTerms,
  type QuoteRequest,
  quoteItem,
  spendCalls,
} from './purchase.js'
import { receiptOf, type ShownReceipt, showReceipt, storeResponse } from './receipt.js'
import type { Delivered } from './receipt-row.js'

/** Settles a purchase by its endpoint's answer. The receipt has all of it. `readLater`: it is not shown now, so it is stored. */
export async function settlePurchase(
  tx: Writer,
  held: HeldPurchase,
  { delivered, failure }: ServiceAnswer,
  service: ServiceContext,
  { readLater = false } = {},
) {
  const { id, row, decimals, bearer } = held
  const isPaid = failure === undefined || service.options.chargeOnUpstreamError
  const status = isPaid ? 'posted' : 'reversed'
  if (!(await settlePayment(tx, held, { status, at: service.clock.now() }))) {
    // Its run was taken over, or someone replaced the state.
    const receipt = receiptOf(row, { status: 'reversed', decimals, response: null })
    return { receipt, failure: 'The payment was reversed before the upstream service answered.' }
  }
  const isKept = !delivered || (await storeResponse(tx, id, { delivered, isPaid, bearer, readLater }, service))
  const receipt = await showReceipt(tx, id, { keys: service.keys, for: 'buyer' })
  return { receipt: isKept ? receipt : { ...receipt, response: delivered }, failure }
}

export interface ServiceAnswer {
  /** Undefined: no complete answer arrived. */
  readonly delivered: Delivered | undefined
  /** Why the call failed. Contains nothing of the request. */
  readonly failure: string | undefined
}

export const callInFlow = (run: FlowRun, held: HeldPurchase, service: ServiceContext): Promise<ServiceAnswer> =>
  run.effect('call the endpoint', heldPayments.longestMs(service), () => callEndpoint(held, service))

/** Whether an answer is paid for. One that asks for another payment is none: its buyer would sign again, to whomever it names. */
export const isDelivery = (status: number): boolean => status < 500 && status !== 402

export async function callEndpoint({ request, hops }: Pick<HeldPurchase, 'request' | 'hops'>, service: ServiceContext) {
  try {
    const { url, shownUrl, method, headers, body } = request
    const to = checkUpstreamUrl(url, service)
    const answer = await callUpstream(service, { url: to, shownUrl, method, headers, body, hops })
    const { status, contentType } = answer
    const [bytes, type] = redacted(await readWhole(answer), contentType, request.sensitive)
    const delivered = { status, content_type: type, ...encodedBody(bytes) }
    return { delivered, failure: isDelivery(status) ? undefined : `The upstream service answered ${status}.` }
  } catch (error) {
    if (error instanceof UpstreamFailure) return { delivered: undefined, failure: error.message }
    if (error instanceof Problem)
      return { delivered: undefined, failure: 'farthing does not call this upstream service.' }
    throw error
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The body of an answer, as it is stored. */
export function encodedBody(bytes: Uint8Array): Pick<Delivered, 'body' | 'body_encoding'> {
  try {
    return { body: utf8.decode(bytes) }
  } catch {
    const text = base64url(bytes).replaceAll('-', '+').replaceAll('_', '/')
    return { body: text.padEnd(Math.ceil(text.length / 4) * 4, '='), body_encoding: 'base64' }
  }
}

/** Services echo what they are sent, above all in errors, so secret values are replaced by asterisks. */
function redacted(bytes: Uint8Array, type: string | null, sensitive: readonly string[]): [Uint8Array, string | null] {
  const spellings = [...new Set(sensitive.flatMap(spellingsOf))].sort((a, b) => b.length - a.length)
  const clean = new Uint8Array(bytes)
  for (const spelling of spellings) for (const secret of bytesOf(spelling)) maskSecret(clean, secret)
  return [clean, spellings.some((spelling) => type?.includes(spelling)) ? null : type]
}

/** A value as it appears in plain text, URLs, forms, JSON and HTML. For an Authorization header also without its scheme. */
function spellingsOf(value: string): string[] {
  const [, credentials = value] = /^\w+ +(.{8,})$/s.exec(value) ?? []
  return [value, credentials].flatMap((each) => [
    each,
    encodeURIComponent(each),
    new URLSearchParams({ '': each }).toString().slice(1),
    JSON.stringify(each).slice(1, -1),
    each.replace(/[&<>"']/g, (character) => `&${entities[character]};`),
  ])
}

const entities: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }

/** In UTF-8, and in Latin-1 as headers encode it. */
function bytesOf(text: string): Uint8Array[] {
  const inUtf8 = new TextEncoder().encode(text)
  const isLatin = /[\x80-\xff]/.test(text) && !/[^\0-\xff]/.test(text)
  return isLatin ? [inUtf8, Uint8Array.from(text, (character) => character.charCodeAt(0))] : [inUtf8]
}

function maskSecret(bytes: Uint8Array, secret: Uint8Array): void {
  const [first] = secret
  if (first === undefined) return
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1))
    if (secret.every((byte, n) => bytes[at + n] === byte)) bytes.fill('*'.charCodeAt(0), at, at + secret.length)
}

/** Calls an item's endpoint as a purchase does, for its own account. Nobody pays, and the call is counted. */
export async function rehearsePurchase(
  { accountId, itemId, args, hops }: { accountId: number; itemId: number; args: Arguments; hops: number },
  service: ServiceContext,
): Promise<ServiceAnswer> {
  checkHops(hops)
  const request = await service.storage.write(async (tx) => {
    const item = await ownItem(tx, accountId, itemId)
    checkArguments(item.service_schema, args)
    return freeRequest(tx, { item, args, bearer: `account:${accountId}` }, service)
  })
  return callEndpoint({ request, hops }, service)
}

interface FreeCall {
  readonly item: CatalogItemRow
  readonly args: Arguments
  readonly bearer: Parameters<typeof spendCalls>[2]['bearer']
}

/** The request of a call that nobody pays for, which is counted. Throws `too_many_calls`, `parameter_unreadable`. */
export async function freeRequest(tx: Writer, { item, args, bearer }: FreeCall, service: ServiceContext) {
  await spendCalls(tx, [callOf({ item, amount: 0n })], { bearer, at: service.clock.now() }, service)
  return endpointRequest(item, args, await decryptParameters(tx, item.id, service))
}

export interface PurchaseOrder extends PayingCaller, QuoteRequest {
  /** Called before anything is held. Throwing refuses the purchase; writes are part of its transaction. */
  readonly admit?: Admission | undefined
  readonly seen?: PriceQuote | undefined
  readonly hops: number
}

/** Buys an item and returns its receipt. Throws `upstream_failed` once the price was held, everything else before. */
export function createPurchase(
  order: PurchaseOrder,
  service: ServiceContext,
  storeAnswer: StoreAnswer<ShownReceipt | Problem> = storeNothing,
): Promise<ShownReceipt> {
  checkHops(order.hops)
  const hold = (tx: Writer, run: FlowRun) => holdPrice(tx, order, run, service)
  return fulfilPurchase({ hold, storeAnswer }, service)
}

interface Fulfilment {
  readonly hold: (tx: Writer, run: FlowRun) => Promise<HeldPurchase>
  readonly storeAnswer?: StoreAnswer<ShownReceipt | Problem>
  /** Whether the buyer reads the receipt later, whatever its size. */
  readonly readLater?: boolean
}

/** Holds a price, calls the endpoint, and settles. Throws `upstream_failed` once the price was held. */
export const fulfilPurchase = (
  { hold, storeAnswer = storeNothing, readLater = false }: Fulfilment,
  service: ServiceContext,
): Promise<ShownReceipt> =>
  runFlow('purchase', service, async (run) => {
    const held = await run.transaction(
      'hold the price',
      async (tx) => {
        const held = await hold(tx, run)
        await storeAnswer(tx, failed(held, 'The call was interrupted.'), { provisional: true })
        return held
      },
      (tx, held) => reversePayment(tx, held, service),
    )
    const answer = await callInFlow(run, held, service)
    return run.transaction('settle', async (tx) => {
      const { receipt, failure } = await settlePurchase(tx, held, answer, service, { readLater })
      return storeAnswer(tx, receipt.status === 'reversed' ? failed(held, failure) : receipt)
    })
  })

const failed = ({ id: transaction_id }: HeldPayment, reason = ''): Problem =>
  problem('upstream_failed', { detail: reason, fields: { transaction_id } })

async function holdPrice(tx: Writer, order: PurchaseOrder, { token }: FlowRun, service: ServiceContext) {
  const { itemId, args, party, seen = {}, admit, delegate = null, hops } = order
  const at = service.clock.now()
  const { within = callingAccount(party) } = order
  const quote = await quoteItem(tx, { itemId, args, within })
  checkPrice(quote, seen)
  await admit?.(tx, [quote])
  const wish = { kind: 'purchase', catalog_item_id: itemId, arguments: args }
  const sums = new Map([[quote.quantity.id, quote.amount]])
  const approval = () => ({ terms: purchaseTerms(quote, args), wish })
  const { twin: payer } = await spendPayer(tx, order, at, () => ({ sums, approval }))
  const bearer = bearerOf(party, payer)
  await spendCalls(tx, [callOf(quote)], { bearer, at }, service)
  const by = { payer, buyer: ownerOfParty(party), bearer, actor: actorOf(party), delegate, hops }
  return beginPurchase(tx, { quote, args, ...by, at, token }, service)
}
