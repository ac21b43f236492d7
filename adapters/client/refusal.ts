import type { Code, FieldsOf, StatusOf } from './operations.js'

interface Parts {
  readonly message: string
  readonly code: string
  readonly status: number
  readonly operation: string
  readonly docs: string | undefined
  readonly headers: Headers
  readonly fields: object
}

/** A call that the service refused. The extra fields of its code are properties. */
export class Refusal extends Error {
  /** The code of the service, such as `price_changed`. `unknown` if the service sent none, as a live service may. */
  readonly code: string
  /** The HTTP status. */
  readonly status: number
  /** The id of the operation, such as `createPayment`. */
  readonly operation: string
  /** The address of the page that explains the code. */
  readonly docs: string | undefined
  /** The headers of the answer. */
  readonly headers: Headers

  constructor({ message, code, status, operation, docs, headers, fields }: Parts) {
    super(message)
    Object.assign(this, fields)
    this.name = 'Refusal'
    this.code = code
    this.status = status
    this.operation = operation
    this.docs = docs
    this.headers = headers
  }
}

/** A refusal with one of these codes, each with its status and its fields. `unknown` is for answers without a code. */
export type RefusalOf<Codes extends Code> = Codes extends Code ? Coded<Codes> : never

type Coded<C extends Code> = Refusal & { readonly code: C; readonly status: StatusOf<C> } & Readonly<FieldsOf<C>>

/**
 * Whether an error is a refusal, and one with this code if you name one: `isRefusal(error, 'price_changed')`. Its fields
 * then have their types.
 */
export function isRefusal(error: unknown): error is Refusal
export function isRefusal<C extends Code>(error: unknown, ...codes: readonly C[]): error is RefusalOf<C>
export function isRefusal(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Refusal && (codes.length === 0 || codes.includes(error.code))
}
