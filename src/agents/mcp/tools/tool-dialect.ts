import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ProblemFields } from '../../../base/problem-fields.js'
import type { ServiceContext } from '../../../http/context.js'
import type { BoundOffer } from '../../mpp/charge.js'
import type { CallReceipt, CallRefusal, RefusedInDialect, SentTransfer } from '../../paid-calls/dialect.js'
import type { PayingClient } from './paying-client.js'
import type { Json } from './tool.js'

/** What a call answers in a dialect: a result, or an error of JSON-RPC. */
export type SaleAnswer = { readonly result: CallToolResult } | { readonly error: RpcError }

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data: Json
}

export interface RefusedSale extends RefusedInDialect {
  /** Such as where to approve it. */
  readonly fields?: ProblemFields
}

/** A payment in a tool call, or a refusal of what is none that the service can check. */
export type ReadPayment = SentTransfer | RefusedInDialect

/** A protocol by which tool calls carry signed transfers. */
export interface ToolDialect {
  isSpoken(client: PayingClient): boolean
  /** How a call without a payment is answered. */
  required(offer: BoundOffer, client: PayingClient, service: ServiceContext): SaleAnswer
  /** Undefined if the call carries nothing of this dialect. Throws `field_invalid`. */
  read(client: PayingClient, offer: BoundOffer, service: ServiceContext): ReadPayment | undefined
  wordsOf(refusal: CallRefusal): RefusedInDialect
  refused(refusal: RefusedSale, offer: BoundOffer, client: PayingClient, service: ServiceContext): SaleAnswer
  /** The `_meta` of what was paid for. */
  receipt(receipt: CallReceipt, offer: BoundOffer, client: PayingClient): Json
}
