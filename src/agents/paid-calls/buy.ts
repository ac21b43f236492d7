import { Problem, problem } from '../../base/problem.js'
import type { ProblemFields } from '../../base/problem-fields.js'
import { required } from '../../base/required.js'
import { checkHops } from '../../base/via.js'
import { ownerOfParty } from '../../consent/personas/spending.js'
import type { Maker, ServiceContext } from '../../http/context.js'
import type { FlowRun } from '../../jobs/flows/flow.js'
import { fulfilPurchase } from '../../market/purchases/fulfilment.js'
import {
  type Admission,
  beginPurchase,
  callOf,
  type HeldPurchase,
  purchaseTerms,
  type Quote,
  type QuoteRequest,
  quoteItem,
  spendCalls,
} from '../../market/purchases/purchase.js'
import { type ShownReceipt, showReceipt } from '../../market/purchases/receipt.js'
import { bearerOf } from '../../payments/payments/payer.js'
import type { PaymentRow } from '../../payments/payments/payment.js'
import { OutcomeUnknown, type Reader, type Writer } from '../../storage/storage.js'
import type { Address } from '../wallets/evm.js'
import { completeSigner, spendSigner } from '../wallets/signer.js'
import {
  checkTransfer,
  nonceDigestOf,
  type PayingTransfer,
  signatureRefusal,
  type TransferRefusal,
  transactionHash,
} from '../wallets/transfer.js'
import { payToOf } from '../wallets/wallet.js'
import { welcomeSigner } from '../wallets/welcome.js'
import type { CallReceipt, CallRefusal, PaymentOffer, SentTransfer } from './dialect.js'
import { namePayment, paymentNamed, paymentNameOf } from './payment-name.js'
import { offerOn } from './way-to-pay.js'

/** A call of an item that a signed transfer pays for. */
export interface TransferCall extends QuoteRequest {
  readonly hops: number
  /** Who makes the twin of an unknown payer. */
  readonly source: Maker
  /** Called before anything is held. */
  readonly admit?: Admission | undefined
}

/** A payment that does not pay for the call. Nothing was charged. */
export class TransferRefused extends Error {
  override name = 'TransferRefused'

  constructor(
    readonly refusal: CallRefusal,
    /** What the service adds to the words of the dialect. */
    readonly detail?: string,
    readonly fields: ProblemFields = {},
  ) {
    super(`a payment was refused: ${refusal}`)
  }
}

/** What a call of an item costs on the first network. */
export async function offerOf(
  tx: Reader,
  { quantity, amount, payee }: Quote,
  { options }: Pick<ServiceContext, 'options'>,
): Promise<PaymentOffer> {
  const network = required(options.dialects.networks[0], 'the network of offers')
  return offerOn(network, { quantity, amount, payTo: await payToOf(tx, payee) })
}

export interface PaidCall {
  readonly receipt: ShownReceipt
  readonly payment: Omit<CallReceipt, 'status'>
}

/** Says that a payment paid before. */
class PaidBefore extends Error {
  constructor(readonly payment: PaymentRow) {
    super('a payment was made before')
  }
}

/** Refusals of a payment that may have paid earlier, when it was still right. */
const SETTLED_MAYBE: readonly TransferRefusal[] = ['recipient_differs', 'expired', 'not_yet_valid', 'value_differs']

/**
 * Buys an item by a signed transfer, once. A payment that its payer named, and each one if `x402Settle` is `idempotent`,
 * gets the same content again. Throws `TransferRefused`, `upstream_failed` after the price was held,
 * `idempotency_in_progress`, `payment_identifier_mismatch`, `idempotency_unreadable`, and what `quoteItem` throws.
 */
export async function buyByTransfer(
  call: TransferCall,
  sent: SentTransfer,
  service: ServiceContext,
): Promise<PaidCall> {
  checkHops(call.hops)
  const { transfer } = sent
  const { from: payer } = transfer.authorization
  const untimely = signatureRefusal(transfer, service.clock.now()) ?? (sent.late ? 'expired' : undefined)
  if (untimely && !SETTLED_MAYBE.includes(untimely)) throw new TransferRefused(untimely)
  const order = { ...call, sent, untimely, name: nameIn(call, sent, service) }
  try {
    const hold = (tx: Writer, run: FlowRun) => holdByTransfer(tx, order, run, service)
    const receipt = await fulfilPurchase({ hold, readLater: order.name !== undefined }, service)
    return paidCall(receipt, payer, { nonce_digest: nonceDigestOf(transfer), amount: String(transfer.due.amount) })
  } catch (error) {
    if (error instanceof PaidBefore) return readAgain(error.payment, payer, service)
    if (error instanceof TransferRefused && error.refusal === 'funds_missing')
      await service.storage.write((tx) => welcomeSigner(tx, { ...order, transfer, at: service.clock.now() }, service))
    if (error instanceof OutcomeUnknown) throw outcomeUnknown(error, service)
    throw error instanceof Problem ? await refusedBy(error, order, service) : error
  }
}

/** A payer in the request has no other way to ask than to send it again. */
function outcomeUnknown(cause: OutcomeUnknown, { log }: Pick<ServiceContext, 'log'>): Problem {
  log.error('a paid call has no known outcome', cause)
  const detail = 'Send the same request with the same payment again: it is charged once. Sign nothing new before.'
  return problem('outcome_unknown', { detail, cause })
}

interface TransferOrder extends TransferCall {
  readonly sent: SentTransfer
  /** Why it can no longer pay, unless it has paid before. */
  readonly untimely: TransferRefusal | undefined
  readonly name: ReturnType<typeof paymentNameOf> | undefined
}

/** The name under which a retry gets the content again: the payer's, or one that the signed nonce makes. */
function nameIn({ itemId, args }: TransferCall, { transfer, identifier }: SentTransfer, { options }: ServiceContext) {
  const { from, nonce } = transfer.authorization
  const terms = { catalog_item_id: itemId, arguments: args }
  if (identifier !== undefined) return paymentNameOf(from, identifier, terms)
  if (!options.dialects.settlesAgain) return undefined
  // For anything else, the nonce is a used one, and not a name for two things.
  return paymentNameOf(from, `${nonce} ${JSON.stringify(terms)}`, terms)
}

async function holdByTransfer(
  tx: Writer,
  order: TransferOrder,
  { token }: FlowRun,
  service: ServiceContext,
): Promise<HeldPurchase> {
  const { sent, args, untimely, name, admit, hops } = order
  const { transfer } = sent
  const at = service.clock.now()
  const quote = await quoteItem(tx, order)
  const paying = await checkUnspent(tx, order)
  const refusal = untimely ?? staleness(sent, await offerOf(tx, quote, service))
  if (refusal) throw new TransferRefused(refusal)
  await admit?.(tx, [quote])
  const approval = () => approvalOf(quote, order)
  const { actor, caller } = await spendSigner(tx, transfer, paying, { approval, at })
  const { payer, spentNonce } = paying
  const { buyer, bearer } = caller
    ? { buyer: ownerOfParty(caller.party), bearer: bearerOf(caller.party, payer) }
    : { buyer: payer.owner, bearer: payer.owner }
  await spendCalls(tx, [callOf(quote)], { bearer, at }, service)
  const by = { payer, buyer, bearer, actor, delegate: caller?.delegate ?? null, spentNonce }
  const held = await beginPurchase(tx, { quote, args, ...by, hops, at, token }, service)
  if (name) namePayment(tx, name, held.id, at)
  return held
}

/** Checks that the transfer can pay and has not. Throws `PaidBefore` if its payer may have the content again. */
async function checkUnspent(tx: Reader, { sent, untimely, name }: TransferOrder): Promise<PayingTransfer> {
  const named = name && (await paymentNamed(tx, name))
  const checked = await checkTransfer(tx, sent.transfer)
  const earlier = named ?? ('refused' in checked ? checked.earlier : undefined)
  if (earlier?.status === 'held')
    throw problem('idempotency_in_progress', {
      detail: 'The call that this payment pays for is still running.',
      headers: { 'retry-after': '1' },
    })
  if (named) throw new PaidBefore(named)
  if ('refused' in checked) throw new TransferRefused(earlier ? checked.refused : (untimely ?? checked.refused))
  return checked
}

/** Why a payment does not pay what the call costs by now. */
function staleness({ transfer }: SentTransfer, offer: PaymentOffer): TransferRefusal | undefined {
  const { token, authorization } = transfer
  if (token !== offer.token.verifyingContract) return 'token_unknown'
  if (authorization.to !== offer.payTo) return 'recipient_differs'
  return authorization.value === offer.amount ? undefined : 'value_differs'
}

const approvalOf = (quote: Quote, { itemId, args }: TransferOrder) => ({
  terms: purchaseTerms(quote, args),
  wish: { kind: 'purchase', catalog_item_id: itemId, arguments: args },
})

async function readAgain(payment: PaymentRow, payer: Address, service: ServiceContext): Promise<PaidCall> {
  const receipt = await service.storage.read((tx) => showReceipt(tx, payment.id, { keys: service.keys, for: 'buyer' }))
  if (receipt.response?.body == null) throw problem('idempotency_unreadable')
  return paidCall(receipt, payer, payment)
}

function paidCall(
  receipt: ShownReceipt,
  payer: Address,
  { nonce_digest, amount }: Pick<PaymentRow, 'nonce_digest' | 'amount'>,
): PaidCall {
  const { transaction_id: paymentId, created_at } = receipt
  const transaction = transactionHash({ id: paymentId, nonce_digest })
  return { receipt, payment: { payer, paymentId, transaction, amount: BigInt(amount), paidAt: created_at * 1000 } }
}

/** A refusal of the payer as the dialects know it. Others concern the call, and stay as they are. */
async function refusedBy(refusal: Problem, order: TransferOrder, service: ServiceContext): Promise<Error> {
  const { code } = refusal
  if (code === 'insufficient_funds') return new TransferRefused('funds_missing')
  if (code === 'delegate_refused') return new TransferRefused(code, refusal.message)
  if (code === 'token_invalid') return new TransferRefused('transfer_refused', `${code}: ${refusal.message}`)
  if (code !== 'approval_required') return refusal
  const termsOf = async (tx: Writer) => purchaseTerms(await quoteItem(tx, order), order.args)
  const completed = await completeSigner(refusal, order.sent.transfer, termsOf, service)
  const { approval_id, url } = completed.fields
  return new TransferRefused(code, completed.message, { approval_id, url })
}
