import { isObject } from '../../storage/unknown.js'

/** How tool calls of MCP are made and answered: what HTTP says in its path and its status stands in JSON-RPC messages. */

type Json = Readonly<Record<string, unknown>>

/** The operations that take messages of MCP. Whatever a message asks for, its answer has a status of 200. */
export const MCP_OPERATIONS: ReadonlySet<string> = new Set(['callMcp', 'callAccountMcp'])

export interface SentTool {
  readonly name: string
  readonly args: Json
  /** Its payment of x402, or its credential of MPP. */
  readonly payment: Json | undefined
}

/** The tool call in a body. Undefined for other messages. */
export function sentTool(body: Json | undefined): SentTool | undefined {
  if (body?.method !== 'tools/call') return undefined
  const { name, arguments: args, _meta } = objectIn(body.params)
  const meta = objectIn(_meta)
  const payment = meta['x402/payment'] ?? meta['org.paymentauth/credential']
  return { name: String(name), args: objectIn(args), payment: isObject(payment) ? payment : undefined }
}

export interface AnsweredTool {
  /** What HTTP would say. Undefined if it worked. */
  readonly refusal: { readonly status: number; readonly code?: string | undefined } | undefined
  readonly content: Json | undefined
}

/** The answer of a tool call. Undefined for other answers of JSON-RPC. */
export function answeredTool(answer: Json | undefined): AnsweredTool | undefined {
  if (answer?.jsonrpc === undefined) return undefined
  const [error, result] = [objectIn(answer.error), objectIn(answer.result)]
  const content = isObject(result.structuredContent) ? result.structuredContent : undefined
  if (answer.error !== undefined) return { refusal: { status: statusIn(objectIn(error.data)) }, content }
  if (result.resultType === 'payment_required') return { refusal: { status: 402 }, content }
  if (result.isError !== true) return { refusal: undefined, content }
  if (Array.isArray(content?.accepts)) return { refusal: { status: 402 }, content }
  return { refusal: { status: statusIn(content), code: codeIn(content) }, content }
}

const statusIn = (told: Json | undefined): number =>
  typeof told?.httpStatus === 'number' ? told.httpStatus : typeof told?.status === 'number' ? told.status : 400

const codeIn = (content: Json | undefined): string | undefined =>
  typeof content?.code === 'string' ? content.code : undefined

const objectIn = (value: unknown): Json => (isObject(value) ? value : {})
