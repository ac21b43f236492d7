import { Problem, problem } from '../../base/problem.js'
import type { ProblemFields } from '../../base/problem-fields.js'
import { canonicalJson } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import { ownerOfParty } from '../../consent/personas/spending.js'
import type { Maker, ServiceContext } from '../../http/context.js'
import { spendCalls } from '../../market/purchases/purchase.js'
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
import { welcomeSigner } from '../wallets/welcome.js'
import type { CallReceipt, CallRefusal, PaymentOffer, SentTransfer } from './dialect.js'
import { namePayment, paymentNamed, paymentNameOf } from './payment-name.js'
import { type AskedPrice, offerOf, type PaidQuote, type Pay, type ThingSold } from './thing-sold.js'

/** A payment that does not pay. Nothing was charged. */
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

/** What was paid for, and the payment. */
export interface Bought<D> {
  readonly delivered: D
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
 * Buys something by a signed transfer, once. A payment that its payer named, and each one if `x402Settle` is `idempotent`,
 * gets the same content again. `source`: who makes the twin of an unknown payer. Throws `TransferRefused`,
 * `idempotency_in_progress`, `payment_identifier_mismatch`, and what the thing throws.
 */
export async function buyByTransfer<Q extends AskedPrice, D>(
  thing: ThingSold<Q, D>,
  sent: SentTransfer,
  source: Maker,
  service: ServiceContext,
): Promise<Bought<D>> {
  const { transfer } = sent
  const { from: payer } = transfer.authorization
  const untimely = signatureRefusal(transfer, service.clock.now()) ?? (sent.late ? 'expired' : undefined)
  if (untimely && !SETTLED_MAYBE.includes(untimely)) throw new TransferRefused(untimely)
  const order: TransferOrder<Q> = { thing, sent, untimely, name: nameOf(thing, sent, service) }
  let taken: Pick<PaymentRow, 'id' | 'created_at'> | undefined
  const pay: Pay<Q> = async (tx, take) => {
    const paid = await spendTransfer(tx, order, service)
    const payment = await take(paid)
    taken = { id: payment.id, created_at: paid.at }
    if (order.name) namePayment(tx, order.name, payment.id, paid.at)
    return payment
  }
  try {
    const delivered = await thing.deliver(pay, { isNamed: order.name !== undefined })
    if (!taken) throw new Error('something was delivered and not paid')
    const spent = { nonce_digest: nonceDigestOf(transfer), amount: String(transfer.due.amount) }
    return { delivered, payment: receiptOf({ ...taken, ...spent }, payer) }
  } catch (error) {
    if (error instanceof PaidBefore) return readAgain(thing, error.payment, payer, service)
    if (error instanceof TransferRefused && error.refusal === 'funds_missing') {
      const at = service.clock.now()
      await service.storage.write((tx) => welcomeSigner(tx, { transfer, source, at }, service))
    }
    if (error instanceof OutcomeUnknown) throw outcomeUnknown(error, order, service)
    throw error instanceof Problem ? await refusedBy(error, order, service) : error
  }
}

/** A payer in the request has no other way to ask than to send it again. */
function outcomeUnknown(
  cause: OutcomeUnknown,
  { name }: Pick<TransferOrder<AskedPrice>, 'name'>,
  { log }: Pick<ServiceContext, 'log'>,
): Problem {
  log.error('a paid call has no known outcome', cause)
  const again = 'Send the same request with the same payment again: it is charged once. Sign nothing new before.'
  const unnamed =
    'If it is then refused as used, it was charged. A payment with a name (`payment-identifier` or `Idempotency-Key`) gets what it paid for.'
  return problem('outcome_unknown', { detail: name ? again : `${again} ${unnamed}`, cause })
}

interface TransferOrder<Q extends AskedPrice> {
  readonly thing: Omit<ThingSold<Q, unknown>, 'deliver'>
  readonly sent: SentTransfer
  /** Why it can no longer pay, unless it has paid before. */
  readonly untimely: TransferRefusal | undefined
  readonly name: ReturnType<typeof paymentNameOf> | undefined
}

/** The name under which a retry gets the content again: the payer's, or one that the signed nonce makes. */
function nameOf(
  { named }: Pick<ThingSold<AskedPrice, unknown>, 'named'>,
  { transfer, identifier }: SentTransfer,
  { options }: ServiceContext,
) {
  const { from, nonce } = transfer.authorization
  if (identifier !== undefined) return paymentNameOf(from, identifier, named)
  if (!options.dialects.settlesAgain) return undefined
  // For anything else, the nonce is a used one, and not a name for two things.
  return paymentNameOf(from, `${nonce.toLowerCase()} ${canonicalJson(named)}`, named)
}

/** Checks that the transfer pays what the thing costs now, and spends what allows it. */
async function spendTransfer<Q extends AskedPrice>(
  tx: Writer,
  order: TransferOrder<Q>,
  service: ServiceContext,
): Promise<PaidQuote<Q>> {
  const { thing, sent, untimely } = order
  const { transfer } = sent
  const at = service.clock.now()
  const quote = await thing.quote(tx)
  const paying = await checkUnspent(tx, order)
  // Two digital quantities may have one token. What moves is that of the quote.
  const isOther = paying.quantity.id !== quote.quantity.id
  const refusal = untimely ?? (isOther ? 'token_unknown' : staleness(sent, await offerOf(tx, quote, service)))
  if (refusal) throw new TransferRefused(refusal)
  await thing.admit?.(tx, quote)
  const { actor, caller } = await spendSigner(tx, transfer, paying, { approval: () => thing.approval(tx, quote), at })
  const { payer, spentNonce } = paying
  const { buyer, bearer } = caller
    ? { buyer: ownerOfParty(caller.party), bearer: bearerOf(caller.party, payer) }
    : { buyer: payer.owner, bearer: payer.owner }
  await spendCalls(tx, thing.calls(quote), { bearer, at }, service)
  return { quote, payer, buyer, bearer, actor, delegate: caller?.delegate ?? null, spentNonce, at }
}

/** Checks that the transfer can pay and has not. Throws `PaidBefore` if its payer may have the content again. */
async function checkUnspent(
  tx: Reader,
  { sent, untimely, name }: Omit<TransferOrder<AskedPrice>, 'thing'>,
): Promise<PayingTransfer> {
  const named = name && (await paymentNamed(tx, name))
  const checked = await checkTransfer(tx, sent.transfer)
  const earlier = named ?? ('refused' in checked ? checked.earlier : undefined)
  if (earlier?.status === 'held')
    throw problem('idempotency_in_progress', {
      detail: 'The call that this payment pays for is still running.',
      headers: { 'retry-after': '1' },
    })
  // Whoever was paid by another signature of the payer has that one too.
  const isForOthers = untimely === 'recipient_differs' && named?.nonce_digest !== nonceDigestOf(sent.transfer)
  if (named && !isForOthers) throw new PaidBefore(named)
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

async function readAgain<D>(
  thing: Pick<ThingSold<never, D>, 'readAgain'>,
  payment: PaymentRow,
  payer: Address,
  { storage }: ServiceContext,
): Promise<Bought<D>> {
  const delivered = await storage.read((tx) => thing.readAgain(tx, payment))
  return { delivered, payment: receiptOf(payment, payer) }
}

function receiptOf(
  payment: Pick<PaymentRow, 'id' | 'nonce_digest' | 'amount' | 'created_at'>,
  payer: Address,
): Omit<CallReceipt, 'status'> {
  const { id: paymentId, amount, created_at } = payment
  const transaction = transactionHash(payment)
  return { payer, paymentId, transaction, amount: BigInt(amount), paidAt: seconds(created_at) * 1000 }
}

/** A refusal of the payer as the dialects know it. Others concern the call, and stay as they are. */
async function refusedBy<Q extends AskedPrice>(
  refusal: Problem,
  { thing, sent }: TransferOrder<Q>,
  service: ServiceContext,
): Promise<Error> {
  const { code } = refusal
  if (code === 'insufficient_funds') return new TransferRefused('funds_missing')
  if (code === 'delegate_refused') return new TransferRefused(code, refusal.message)
  if (code === 'token_invalid') return new TransferRefused('transfer_refused', `${code}: ${refusal.message}`)
  if (code !== 'approval_required') return refusal
  const termsOf = async (tx: Writer) => (await thing.approval(tx, await thing.quote(tx))).terms
  const completed = await completeSigner(refusal, sent.transfer, termsOf, service)
  const { approval_id, url } = completed.fields
  return new TransferRefused(code, completed.message, { approval_id, url })
}
