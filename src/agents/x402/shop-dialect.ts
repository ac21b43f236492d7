import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type {
  CallOffer,
  CallReceipt,
  DialectPart,
  PaidRequest,
  PaymentDialect,
  RefusedInDialect,
  SentTransfer,
} from '../paid-calls/dialect.js'
import { wayToPay } from '../paid-calls/way-to-pay.js'
import { addressIn } from '../wallets/evm.js'
import {
  type DuePayment,
  decodeHeader,
  duePayment,
  encodeHeader,
  PaymentPayload,
  PaymentPayloadV1,
  requirementsOfV1,
  type SentPayment,
  sentPayment,
  transferIn,
} from './payload.js'
import { identifierIn, PAYMENT_IDENTIFIER } from './payment-identifier.js'
import { reasons, type X402Refusal } from './reasons.js'

/** What the extension `payment-identifier` takes (specification, extensions). */
const IDENTIFIER = {
  info: { required: false },
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { required: { type: 'boolean' }, id: { type: 'string', minLength: 16, maxLength: 128 } },
    required: ['required'],
  },
}

/** What a client gets that has not paid (specification of version 2, section 5.1). */
export const paymentRequired = (offer: CallOffer, error: string) => ({
  x402Version: 2,
  error,
  resource: offer.resource,
  accepts: [wayToPay(offer)],
  extensions: { [PAYMENT_IDENTIFIER]: IDENTIFIER },
})

/** What a client gets that has paid (section 5.3). */
export const settlementOf = ({ payer, transaction, amount }: Omit<CallReceipt, 'status'>, { network }: CallOffer) => ({
  success: true,
  transaction,
  network: network.network,
  payer,
  amount: String(amount),
})

/** The payment in a message of version 2. Undefined if it is none. */
export function paymentIn(value: unknown, offer: CallOffer, service: ServiceContext) {
  const { success, data } = PaymentPayload.safeParse(value)
  return success ? transferOf(sentPayment(data), duePayment(wayToPay(offer)), service) : undefined
}

export const x402WordsOf = (refusal: X402Refusal) => ({
  reason: reasons[refusal].v2,
  sentence: reasons[refusal].sentence,
})
const wordsOfV1 = (refusal: X402Refusal) => ({ reason: reasons[refusal].v1, sentence: reasons[refusal].sentence })

/** Version 2 over HTTP (transports-v2/http). */
export const x402Dialect: PaymentDialect = {
  name: 'x402',
  offer: async (offer) => required(offer, 'PAYMENT-SIGNATURE header is required'),
  async read(request, offer, service) {
    const value = sentIn(request, 'PAYMENT-SIGNATURE')
    if (!value) return undefined
    const payment = paymentIn(value.json, offer, service)
    if (!payment) throw malformed(value.name)
    return payment
  },
  wordsOf: x402WordsOf,
  async refused({ reason, payer }, offer) {
    const { headers, fields } = required(offer, reason)
    const { network } = offer.network
    const failure = { success: false, errorReason: reason, transaction: '', network, payer }
    return { headers: { ...headers, 'payment-response': encodeHeader(failure) }, fields }
  },
  receipt: (receipt, offer) => ({ 'payment-response': encodeHeader(settlementOf(receipt, offer)) }),
}

const required = (offer: CallOffer, error: string): DialectPart => ({
  headers: { 'payment-required': encodeHeader(paymentRequired(offer, error)) },
  fields: {},
})

/** Version 1 over HTTP (transports-v1/http), for networks that it has a name for. */
export const x402DialectV1: PaymentDialect = {
  name: 'x402 version 1',
  offer: async (offer) => requiredV1(offer),
  async read(request, offer, service) {
    const value = sentIn(request, 'X-PAYMENT')
    if (!value) return undefined
    const { success, data } = PaymentPayloadV1.safeParse(value.json)
    if (!success) throw malformed(value.name)
    const due = requirementsOfV1(offer, offer.resource)
    if (!due) return wordsOfV1('network_unknown')
    return transferOf(sentPayment(data), duePayment(due), service, wordsOfV1)
  },
  wordsOf: wordsOfV1,
  refused: async (_refusal, offer) => requiredV1(offer),
  receipt({ payer, transaction }, { network }) {
    const settled = { success: true, transaction, network: network.nameV1 ?? network.network, payer }
    return { 'x-payment-response': encodeHeader(settled) }
  },
}

function requiredV1(offer: CallOffer): DialectPart {
  const accepted = requirementsOfV1(offer, offer.resource)
  return { headers: {}, fields: accepted ? { x402Version: 1, accepts: [accepted] } : {} }
}

function transferOf(
  sent: SentPayment,
  due: DuePayment,
  { options }: ServiceContext,
  words = x402WordsOf,
): SentTransfer | RefusedInDialect {
  const transfer = transferIn(sent, due, options.dialects)
  if (typeof transfer === 'object') return { transfer, identifier: identifierIn(sent) }
  const { from } = sent.payload.authorization ?? {}
  return { ...words(transfer), payer: from === undefined ? undefined : addressIn(from) }
}

function sentIn({ headers }: PaidRequest, name: string): { name: string; json: unknown } | undefined {
  const text = headers.get(name)
  return text === null ? undefined : { name, json: decodeHeader(text) }
}

const malformed = (header: string) =>
  problem('header_malformed', {
    detail: `The invalid header is ${header}: it must be a payment as JSON in Base64.`,
    facts: { header },
  })
