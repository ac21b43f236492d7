import type { DialectOptions } from '../../base/token-network.js'
import { z } from '../../http/fields/schema.js'
import type { OfferedResource, PaymentOffer } from '../paid-calls/dialect.js'
import type { Hex } from '../wallets/evm.js'
import { networkNamed } from '../wallets/networks.js'
import {
  authorizationIn,
  SentAddress,
  SentAuthorization,
  SentDigits,
  SentSignature,
  sentAddress,
} from '../wallets/sent-authorization.js'
import type { SignedTransfer } from '../wallets/transfer.js'

/** Messages of x402 (specification, section 5), in version 2, and in version 1 where it differs. */

const Extra = z.optional(z.nullable(z.record(z.string(), z.unknown())))
const Name = z.string().check(z.maxLength(64))

/** What one way to pay asks for. `amount` is in the token's smallest unit. */
export const Requirements = z.object({
  scheme: Name,
  network: Name,
  amount: SentDigits,
  asset: SentAddress,
  payTo: SentAddress,
  maxTimeoutSeconds: z.number(),
  extra: Extra,
})
export type Requirements = z.output<typeof Requirements>

/** A longer one would be stored in approvals, and is no address that anybody calls. */
const ResourceUrl = z.string().check(z.maxLength(8192))

export const RequirementsV1 = z.object({
  scheme: Name,
  network: Name,
  maxAmountRequired: SentDigits,
  asset: SentAddress,
  payTo: SentAddress,
  maxTimeoutSeconds: z.number(),
  resource: z.optional(ResourceUrl),
  description: z.optional(z.string()),
  mimeType: z.optional(z.string()),
  outputSchema: Extra,
  extra: Extra,
})

/** A signed transfer (scheme `exact`, EIP-3009). Of other methods, only the fields that tell them apart. */
const Payload = z.object({
  signature: z.secret(z.optional(SentSignature)),
  authorization: z.optional(SentAuthorization),
  permit2Authorization: z.optional(z.unknown()),
})

const Resource = z.object({
  url: ResourceUrl,
  description: z.optional(z.nullable(z.string())),
  mimeType: z.optional(z.nullable(z.string())),
})

export const PaymentPayload = z.object({
  x402Version: z.literal(2),
  resource: z.optional(z.nullable(Resource)),
  accepted: Requirements,
  payload: Payload,
  extensions: Extra,
})
export type PaymentPayload = z.output<typeof PaymentPayload>

export const PaymentPayloadV1 = z.object({
  x402Version: z.literal(1),
  scheme: Name,
  network: Name,
  payload: Payload,
})

/** A payment as a client sent it, in either version. */
export interface SentPayment {
  readonly version: 1 | 2
  readonly scheme: string
  /** As its version names it. */
  readonly network: string
  readonly payload: z.output<typeof Payload>
  readonly resource: string | undefined
  readonly extensions: Readonly<Record<string, unknown>>
}

export const sentPayment = (payment: PaymentPayload | z.output<typeof PaymentPayloadV1>): SentPayment =>
  payment.x402Version === 1
    ? { version: 1, ...payment, resource: undefined, extensions: {} }
    : {
        version: 2,
        scheme: payment.accepted.scheme,
        network: payment.accepted.network,
        payload: payment.payload,
        resource: payment.resource?.url,
        extensions: payment.extensions ?? {},
      }

/** What is due, in either version. */
export interface DuePayment {
  readonly scheme: string
  /** As its version names it. */
  readonly network: string
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly extra: Readonly<Record<string, unknown>>
}

export function duePayment(required: Requirements | z.output<typeof RequirementsV1>): DuePayment {
  const { scheme, network, asset, payTo, extra } = required
  const amount = 'amount' in required ? required.amount : required.maxAmountRequired
  return { scheme, network, asset, payTo, amount, extra: extra ?? {} }
}

/** Why a payment is no signed transfer that this service can check. */
export type PayloadRefusal =
  | 'scheme_unsupported'
  | 'network_unknown'
  | 'network_differs'
  | 'permit2_unsupported'
  | 'payload_malformed'
  | 'domain_missing'

/** The signed transfer of a payment, and what it must pay. */
export function transferIn(
  { version: sentVersion, scheme, network, payload }: SentPayment,
  due: DuePayment,
  options: DialectOptions,
): SignedTransfer | PayloadRefusal {
  if (scheme !== 'exact' || due.scheme !== 'exact') return 'scheme_unsupported'
  const known = networkNamed(options, due.network, sentVersion)
  if (!known) return 'network_unknown'
  if (payload.permit2Authorization !== undefined) return 'permit2_unsupported'
  const { signature, authorization: sent } = payload
  if (signature === undefined || sent === undefined) return 'payload_malformed'
  const { name, version } = due.extra
  if (typeof name !== 'string' || typeof version !== 'string' || !name || !version) return 'domain_missing'
  if (network !== due.network) return 'network_differs'
  const authorization = authorizationIn(sent)
  if (!authorization) return 'payload_malformed'
  return {
    authorization,
    signature: signature as Hex,
    domain: { name, version },
    network: known,
    token: sentAddress(due.asset),
    due: { payTo: sentAddress(due.payTo), amount: BigInt(due.amount) },
  }
}

/** A header's value: JSON in base64. */
export function encodeHeader(value: object): string {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** The JSON in a header's value. Undefined if it is none. */
export function decodeHeader(text: string): unknown {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

/** One way to pay, as version 1 writes it. Undefined if it has no name for the network. */
export function requirementsOfV1(
  { network, token, amount, payTo, maxTimeoutSeconds }: PaymentOffer,
  resource: OfferedResource,
) {
  if (network.nameV1 === undefined) return undefined
  return {
    scheme: 'exact',
    network: network.nameV1,
    maxAmountRequired: String(amount),
    resource: resource.url,
    description: resource.description,
    mimeType: resource.mimeType,
    payTo,
    maxTimeoutSeconds,
    asset: token.verifyingContract,
    extra: { name: token.name, version: token.version },
  }
}
