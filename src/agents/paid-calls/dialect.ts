import type { ProblemFields } from '../../base/problem-fields.js'
import type { TokenNetwork } from '../../base/token-network.js'
import type { ServiceContext } from '../../http/context.js'
import type { Address, TokenDomain } from '../wallets/evm.js'
import type { SignedTransfer, TransferRefusal } from '../wallets/transfer.js'

/** One way to pay. */
export interface PaymentOffer {
  readonly network: TokenNetwork
  readonly token: Omit<TokenDomain, 'chainId'>
  /** In the token's smallest unit. */
  readonly amount: bigint
  readonly payTo: Address
  readonly maxTimeoutSeconds: number
}

/** What a call costs now, and what it is for. */
export interface CallOffer extends PaymentOffer {
  readonly resource: OfferedResource
}

/** An offer over HTTP, and the request that gets it. */
export interface RequestedOffer extends CallOffer {
  readonly request: PaidRequest
}

export interface OfferedResource {
  /** The same for every payer, whatever address they call. */
  readonly url: string
  readonly description: string
  readonly mimeType: string
}

/** A request that may carry a payment. */
export interface PaidRequest {
  readonly method: string
  readonly url: string
  readonly headers: Pick<Headers, 'get' | 'has'>
  /** As they came. Empty if there is none. */
  readonly body: Uint8Array
}

/** What an answer says in one dialect: its part of the headers and of the body of a 402. */
export interface DialectPart {
  readonly headers: Readonly<Record<string, string>>
  readonly fields: ProblemFields
}

/** What the ledger refuses, of a transfer that a chain would make. */
export type LedgerRefusal = 'approval_required' | 'delegate_refused' | 'transfer_refused'

/** Why a payment does not pay for a call. Each dialect has its own word for it. */
export type CallRefusal = TransferRefusal | LedgerRefusal

/** A refusal in the words of a dialect. */
export interface RefusedInDialect {
  /** The stable code that clients know. */
  readonly reason: string
  /** What is wrong, and what to do. */
  readonly sentence: string
  /** Undefined if the request names none. */
  readonly payer?: Address | undefined
}

/** A payment as a request carries it. Nothing of it is verified. */
export interface SentTransfer {
  readonly transfer: SignedTransfer
  /** The name that its payer gave the payment, so that a retry under another signature pays nothing. */
  readonly identifier?: string | undefined
  /** Whether the offer that it accepts is over. It still gets what it paid for in time. */
  readonly late?: boolean
}

/** A payment that paid for a call, now or in an earlier try. */
export interface CallReceipt {
  readonly payer: Address
  readonly paymentId: number
  /** The hash of the transaction that a chain would have made of it. */
  readonly transaction: string
  readonly amount: bigint
  /** When it was made, in Unix milliseconds. */
  readonly paidAt: number
  /** The HTTP status of what it paid for. */
  readonly status: number
}

/** The payment of the first dialect that a request carries one of. Undefined if it carries none. */
export async function firstPayment<D, S>(
  dialects: readonly D[],
  read: (dialect: D) => S | undefined | Promise<S | undefined>,
): Promise<{ readonly dialect: D; readonly sent: S } | undefined> {
  for (const dialect of dialects) {
    const sent = await read(dialect)
    if (sent !== undefined) return { dialect, sent }
  }
  return undefined
}

/** A protocol by which requests carry signed transfers, such as a version of x402. */
export interface PaymentDialect {
  readonly name: string
  /** How a 402 offers the call. */
  offer(offer: RequestedOffer, service: ServiceContext): Promise<DialectPart>
  /**
   * The payment in a request, or a refusal of what is none that this service can check. Undefined if the request carries
   * nothing of this dialect. Throws a problem of status 400 for what is malformed.
   */
  read(
    request: PaidRequest,
    offer: RequestedOffer,
    service: ServiceContext,
  ): Promise<SentTransfer | RefusedInDialect | undefined>
  /** The words for a refusal. */
  wordsOf(refusal: CallRefusal): Pick<RefusedInDialect, 'reason' | 'sentence'>
  /** How a 402 refuses a payment of this dialect and offers the call again. */
  refused(refusal: RefusedInDialect, offer: RequestedOffer, service: ServiceContext): Promise<DialectPart>
  /** The headers of what was paid for. */
  receipt(receipt: CallReceipt, offer: RequestedOffer): Readonly<Record<string, string>>
}
