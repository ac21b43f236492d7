import type { Code, FieldsOf, StatusOf } from './operations.js'
import type { Endpoint } from './request.js'

type Parts = Omit<Refusal, keyof Error> & { readonly message: string; readonly fields: object }

/** A call that the service refused. The extra fields of its code are properties. */
export class Refusal extends Error {
  /** The code of the service, such as `price_changed`. `unknown` if the service sent none, as a live service may. */
  readonly code!: string
  /** The HTTP status. */
  readonly status!: number
  /** The id of the operation, such as `createPayment`. */
  readonly operation!: string
  /** The address of the page that explains the code, or the command that prints it for a service in process. */
  readonly docs!: string | undefined
  /** The headers of the answer. */
  readonly headers!: Headers

  constructor({ message, fields, ...parts }: Parts) {
    super(message)
    Object.assign(this, fields, { name: 'Refusal', ...parts })
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

/** Reads an answer as what its operation returns. Throws a `Refusal` if it is one. */
export async function readAnswer(
  endpoint: Endpoint,
  response: Response,
  { isInProcess = false }: { readonly isInProcess?: boolean } = {},
): Promise<unknown> {
  const { status, headers } = response
  // What an upstream service answers to a payment is the answer, even if it is an error.
  if (endpoint.raw && (response.ok || headers.get('x-payment-status') === 'posted')) return response
  if (!response.ok) throw refusalOf(endpoint, response, { text: await response.text(), isInProcess })
  if (endpoint.accept === 'application/pdf') return new Uint8Array(await response.arrayBuffer())
  const text = await response.text()
  if (status === 204 || text === '') return undefined
  return endpoint.accept ? text : JSON.parse(text)
}

function refusalOf(
  { id, method, path }: Endpoint,
  { status, headers }: Response,
  { text, isInProcess }: { readonly text: string; readonly isInProcess: boolean },
): Refusal {
  const { error, code, docs, error_description, message, status: _, ...fields } = bodyOf(text)
  const sentence = [error_description, error, message].find((part) => typeof part === 'string')
  return new Refusal({
    message: sentence ?? `${method} ${path} answered ${status}.`,
    code: typeof code === 'string' ? code : 'unknown',
    docs: typeof docs !== 'string' ? undefined : isInProcess ? `npx farthing explain ${code}` : docs,
    ...{ status, operation: id, headers, fields },
  })
}

/** A proxy may answer with a page. */
function bodyOf(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null ? { ...body } : {}
  } catch {
    return {}
  }
}
