import { checksummed } from '../../agents/wallets/evm.js'
import { checkTransfer, transactionHash } from '../../agents/wallets/transfer.js'
import { payToOf } from '../../agents/wallets/wallet.js'
import { FacilitatorBody, facilitatedPayment } from '../../agents/x402/facilitator-body.js'
import { decodeHeader, encodeHeader, transferIn } from '../../agents/x402/payload.js'
import { parsedJson } from '../../base/json.js'
import { Problem, problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { ensureSweep } from '../../jobs/retention/sweep-timer.js'
import { twins } from '../../money/twins/twin.js'
import { payments } from '../../payments/payments/payment.js'
import { getExisting } from '../../storage/page.js'
import type { Reader } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import { sandboxOf } from '../onion/context.js'
import type { FaultyAnswer, FaultyRequest, X402Mode } from '../onion/fault.js'
import { keepClock } from '../settings/settings.js'

/** What a settlement says of the transfer: in the body of the facilitator, or in a header of what was paid for. */
interface Receipt {
  readonly success: boolean
  readonly transaction: string
  readonly amount?: unknown
  readonly [field: string]: unknown
}

interface PlacedReceipt {
  readonly receipt: Receipt
  readonly isBody: boolean
  replaced(receipt: object): FaultyAnswer
}

/** The receipt of what the same authorization has paid before this request. Undefined if it has paid nothing. */
export async function earlierReceipt({ operationId, fields, service }: FaultyRequest): Promise<Receipt | undefined> {
  const parsed = operationId === 'settleX402Payment' && service ? FacilitatorBody.safeParse(fields) : undefined
  if (!parsed?.success || !service) return undefined
  const { sent, due } = facilitatedPayment(parsed.data)
  const transfer = transferIn(sent, due, service.options.dialects)
  if (typeof transfer === 'string') return undefined
  const checked = await service.storage.read((tx) => checkTransfer(tx, transfer))
  const earlier = 'refused' in checked ? checked.earlier : undefined
  if (!earlier) return undefined
  const { from: payer } = transfer.authorization
  const { network } = due
  return { success: true, transaction: transactionHash(earlier), network, payer, amount: earlier.amount }
}

/** Whether this mode changes what an answer says, and not what a refusal offers. */
export function changesReceipt(mode: X402Mode, answer: FaultyAnswer, earlier: Receipt | undefined): boolean {
  const placed = mode === 'expensive_offer' ? undefined : placedReceipt(answer)
  if (!placed) return false
  const isPending = mode === 'settlement_pending' || mode === 'settlement_pending_always'
  return isPending ? placed.isBody && (placed.receipt.success || earlier !== undefined) : placed.receipt.success
}

/** The answer in its hostile form. What was moved stays as it is. */
export async function hostileAnswer(
  mode: X402Mode,
  answer: FaultyAnswer,
  { earlier, request }: { readonly earlier: Receipt | undefined; readonly request: FaultyRequest },
): Promise<FaultyAnswer> {
  const placed = placedReceipt(answer)
  const { service } = request
  if (!placed || !service || mode === 'expensive_offer') return answer
  if (mode === 'late') {
    await passValidBefore(request.fields, service)
    return answer
  }
  if (mode === 'settlement_pending' && earlier) return placed.replaced(earlier)
  return placed.replaced(await hostileReceipt(mode, earlier ?? placed.receipt, service))
}

const NOBODY = '0x000000000000000000000000000000000000dEaD'

async function hostileReceipt(
  mode: Exclude<X402Mode, 'late' | 'expensive_offer'>,
  receipt: Receipt,
  { storage }: Pick<ServiceContext, 'storage'>,
): Promise<object> {
  const { amount: _, ...told } = receipt
  const failed = { ...told, success: false }
  if (mode === 'success_false')
    return {
      ...failed,
      transaction: '',
      errorReason: 'unexpected_settle_error',
      errorMessage: 'It settled all the same.',
    }
  if (mode === 'wrong_payer') return { ...receipt, payer: NOBODY }
  if (mode === 'other_receipt') return { ...receipt, ...(await storage.read((tx) => otherPayment(tx, receipt))) }
  return { ...failed, errorReason: 'settlement_pending', errorMessage: 'Settle the same payment again to ask.' }
}

/** How many payments are looked through for another one. */
const MOST_PAYMENTS = 100

/** The newest payment by another authorization, or one that never was. */
async function otherPayment(tx: Reader, { transaction }: Receipt) {
  const newest = await tx.find(payments, { index: 'id', prefix: [], limit: MOST_PAYMENTS, reverse: true })
  const other = newest.find((row) => row.nonce_digest && transactionHash(row) !== transaction)
  const made = digest(`not ${transaction}`)
  if (!other) return { transaction: `0x${made}`, payer: checksummed(made.slice(0, 40)) }
  const payer = await getExisting(tx, twins, other.payer_twin_id)
  return { transaction: transactionHash(other), payer: await payToOf(tx, payer) }
}

/** Moves the service's clock behind the time until which the authorization was valid. */
async function passValidBefore(fields: FaultyRequest['fields'], service: ServiceContext): Promise<void> {
  const parsed = FacilitatorBody.safeParse(fields)
  const validBefore = parsed.data?.paymentPayload.payload.authorization?.validBefore
  const ahead = Number(validBefore ?? 0) - seconds(service.clock.now())
  if (ahead >= 0 && ahead <= LONGEST_WAIT_SECONDS) await advance(ahead + 1, service)
}

async function advance(seconds: number, service: ServiceContext): Promise<void> {
  const { clock } = sandboxOf(service)
  const store = () =>
    service.storage.write(async (tx) => {
      keepClock(tx, clock.state())
      await ensureSweep(tx, clock.now())
    })
  await service.background.moveClock(() => clock.now() + seconds * 1000, store)
}

/** Nobody's authorization is valid for longer, unless it is meant to be valid always. */
const LONGEST_WAIT_SECONDS = 86_400

function placedReceipt(answer: FaultyAnswer): PlacedReceipt | undefined {
  const { headers, body } = answer
  const ofBody = typeof body === 'string' ? receiptOfText(body) : undefined
  if (ofBody)
    return { receipt: ofBody, isBody: true, replaced: (receipt) => ({ ...answer, body: JSON.stringify(receipt) }) }
  for (const name of ['payment-response', 'x-payment-response']) {
    const receipt = decodeHeader(headers[name] ?? '')
    if (!isReceipt(receipt)) continue
    const replaced = (other: object) => ({ ...answer, headers: { ...headers, [name]: encodeHeader(other) } })
    return { receipt, isBody: false, replaced }
  }
  return undefined
}

const isReceipt = (value: unknown): value is Receipt =>
  isObject(value) && typeof value.success === 'boolean' && typeof value.transaction === 'string'

function receiptOfText(text: string): Receipt | undefined {
  const value = parsedJson(text)
  return isReceipt(value) ? value : undefined
}

/** How many times the price the offer behind the first one asks for. */
const TIMES = 50n

/** What a wallet of the chains here cannot pay, so that its client takes the next offer. */
const elsewhere = {
  asset: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
  payTo: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4',
  extra: { feePayer: 'EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd' },
}
const networks = { 1: 'solana-devnet', 2: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' } as const

/** A 402 that offers the call at its price elsewhere, and then here for much more. Undefined for all else. */
export function withExpensiveOffer(error: unknown): Problem | undefined {
  if (!(error instanceof Problem) || error.code !== 'payment_required') return undefined
  const { fields, headers, facts } = error
  const { detail, ...decided } = facts
  const required = worsened(decodeHeader(headers['payment-required'] ?? ''), 2)
  return problem('payment_required', {
    ...(typeof detail === 'string' && { detail }),
    facts: decided,
    fields: { ...fields, ...worsened(fields, 1) },
    headers: { ...headers, ...(required && { 'payment-required': encodeHeader(required) }) },
  })
}

function worsened(told: unknown, version: 1 | 2): object | undefined {
  const [offer] = isObject(told) && Array.isArray(told.accepts) ? told.accepts.filter(isObject) : []
  if (!isObject(told) || !offer) return undefined
  const name = version === 1 ? 'maxAmountRequired' : 'amount'
  const amount = String(BigInt(String(offer[name])) * TIMES)
  return {
    ...told,
    accepts: [
      { ...offer, ...elsewhere, network: networks[version] },
      { ...offer, [name]: amount },
    ],
  }
}
