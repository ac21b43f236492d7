import type * as sdk from '@modelcontextprotocol/server'
import type { Log } from '../../base/ports.js'
import { Problem, problemSentence } from '../../base/problem.js'
import type { Json } from './tools/tool.js'

/** The SDK, once it is loaded. */
export type Sdk = typeof sdk

type Handler = (params: Json, context: sdk.ServerContext) => Promise<sdk.Result>

/** What an MCP server offers to whoever sends one request. */
export interface McpOffer {
  readonly info: sdk.Implementation
  readonly instructions?: string
  /** What is told by a stream of its own is told in the `modern` era alone: the earlier one would take a session for that. */
  capabilities(era: 'modern' | 'legacy'): sdk.ServerCapabilities
  /** By the methods of the protocol. */
  readonly handlers: Readonly<Record<string, Handler>>
  /** What a `requestState` holds that comes back. Throws for one that was not made for this caller. */
  openState?(state: string): Promise<unknown>
  /** Begins to look for changes to tell a subscriber of. */
  watch?(): Promise<ChangeFeed>
}

/** Tells of changes as they come, until what it gives is called; calls `end` where there will be none to tell of any more. */
export type ChangeFeed = (tell: (event: sdk.ServerEvent) => void, end: () => void) => () => void

/** A JSON-RPC message as it came by POST. */
export interface SentMessage {
  readonly url: string
  readonly headers: Pick<Headers, 'get'>
  readonly body: Json
  /** Fires when streams are to end. */
  readonly ending: AbortSignal | undefined
}

export interface McpAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string | ReadableStream<Uint8Array> | null
}

/** Of a request, what the SDK looks at. */
const PASSED = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id']

/** Answers one message, of either era of the protocol: nothing is kept between messages. */
export async function answerMessage(
  make: (sdk: Sdk) => McpOffer,
  { url, headers, body, ending }: SentMessage,
  log: Log,
): Promise<McpAnswer> {
  const loaded = await import('@modelcontextprotocol/server')
  const offer = make(loaded)
  const watch = body.method === 'subscriptions/listen' ? await offer.watch?.() : undefined
  const end = () => void handler.close()
  const bus = { publish() {}, subscribe: (tell: (event: sdk.ServerEvent) => void) => watch?.(tell, end) ?? (() => {}) }
  let failure: Error | undefined
  const onerror = (error: Error) => {
    failure = error
  }
  const handler = loaded.createMcpHandler(({ era }) => serverOf(loaded, offer, { era, log }), { bus, onerror })
  const sent = new Headers()
  for (const name of PASSED) {
    const value = headers.get(name)
    if (value !== null) sent.set(name, value)
  }
  const response = await handler.fetch(new Request(url, { method: 'POST', headers: sent }), { parsedBody: body })
  // What else it reports are mistakes of clients, who are told themselves.
  if (response.status >= 500) log.error('an MCP message could not be answered', failure)
  return answerOf(response, ending, end)
}

async function answerOf(response: Response, ending: AbortSignal | undefined, end: () => void): Promise<McpAnswer> {
  const { status } = response
  const type = response.headers.get('content-type')
  const headers: Record<string, string> = type === null ? {} : { 'content-type': type }
  const stream = type?.startsWith('text/event-stream') ? response.body : null
  if (!stream) return { status, headers, body: (await response.text()) || null }
  if (ending?.aborted) end()
  ending?.addEventListener('abort', end)
  const body = followed(stream, () => ending?.removeEventListener('abort', end))
  return { status, headers, body }
}

/** A stream that says when it is over, however that comes. */
function followed(stream: ReadableStream<Uint8Array>, over: () => void): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        over()
        throw cause
      })
      if (!done) return controller.enqueue(value)
      over()
      controller.close()
    },
    cancel(reason) {
      over()
      return reader.cancel(reason)
    },
  })
}

/** A server for one message. */
function serverOf(loaded: Sdk, offer: McpOffer, { era, log }: { era: 'modern' | 'legacy'; log: Log }): sdk.Server {
  const { info, instructions, handlers, openState } = offer
  const { server } = new loaded.McpServer(info, {
    ...(instructions !== undefined && { instructions }),
    ...(openState && { requestState: { verify: openState } }),
    // It would judge what is filled into forms of the SDK's own; made for each message, it costs more than all the rest.
    jsonSchemaValidator: {
      // Nothing is read of what it would have judged.
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
  })
  server.registerCapabilities(offer.capabilities(era))
  // The SDK types each method apart; an offer lists them, and its handlers answer what they are asked.
  for (const [method, handler] of Object.entries(handlers))
    server.setRequestHandler(method as sdk.RequestMethod, async (request: sdk.Request, context: sdk.ServerContext) => {
      try {
        return (await handler(request.params ?? {}, context)) as never
      } catch (error) {
        throw protocolError(loaded, error, log)
      }
    })
  return server
}

/** What is refused is told; a defect is logged, and shown as no more than that. */
function protocolError({ ProtocolError, ProtocolErrorCode }: Sdk, error: unknown, log: Log): Error {
  if (error instanceof ProtocolError) return error
  if (error instanceof Problem) return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, error.body)
  log.error('an MCP request failed', error)
  return new ProtocolError(ProtocolErrorCode.InternalError, problemSentence('internal_error'))
}
