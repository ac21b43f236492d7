import type * as sdk from '@modelcontextprotocol/server'
import type { Log } from '../../base/ports.js'
import { Problem, problemSentence } from '../../base/problem.js'
import type { Json } from './tools/tool.js'

export type Sdk = typeof import('./sdk.js')
type Handler = (params: Json, context: sdk.ServerContext) => Promise<sdk.Result>

export interface McpOffer {
  readonly info: sdk.Implementation
  readonly instructions?: string
  /** Subscriptions are for the `modern` era only, because the earlier one would expect a session. */
  capabilities(era: 'modern' | 'legacy'): sdk.ServerCapabilities
  /** Handlers by method of the protocol. */
  readonly handlers: Readonly<Record<string, Handler>>
  /** Decrypts a `requestState`. Throws if it was created for a different caller. */
  openState?(state: string): Promise<unknown>
  /** Returns the session id for a client of 2025 by the parameters of its `initialize`, if it needs one. */
  startSession?(params: unknown): Promise<string | undefined>
  watch?(): Promise<ChangeFeed>
}

/** Reports changes until the returned function is called. Calls `end` when there can be no more. */
export type ChangeFeed = (tell: (event: sdk.ServerEvent) => void, end: () => void) => () => void

export interface SentMessage {
  readonly url: string
  readonly headers: Pick<Headers, 'get'>
  readonly body: Json
  readonly ending: AbortSignal | undefined
}

export interface McpAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string | ReadableStream<Uint8Array> | null
}

const PASSED = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/** Answers one message of either era. Nothing is stored between messages. */
export async function answerMessage(make: (sdk: Sdk) => McpOffer, message: SentMessage, log: Log): Promise<McpAnswer> {
  const loaded = await import('./sdk.js')
  const offer = make(loaded)
  const feed = message.body.method === 'subscriptions/listen' ? await offer.watch?.() : undefined
  let isWatched = feed === undefined
  const watch: ChangeFeed = (tell, end) => {
    isWatched = true
    return feed?.(tell, end) ?? (() => {})
  }
  try {
    return await answerBy({ loaded, offer, watch, log }, message)
  } finally {
    // A message that the SDK refuses, or that fails, watches nothing.
    if (!isWatched)
      feed?.(
        () => {},
        () => {},
      )()
  }
}

type Answering = { readonly loaded: Sdk; readonly offer: McpOffer; readonly watch: ChangeFeed; readonly log: Log }

async function answerBy({ loaded, offer, watch, log }: Answering, { url, headers, body, ending }: SentMessage) {
  const end = () => void handler.close()
  const bus = { publish() {}, subscribe: (tell: (event: sdk.ServerEvent) => void) => watch(tell, end) }
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
  // The SDK also reports mistakes of clients, which get an answer.
  if (response.status >= 500) log.error('cannot answer an MCP message', failure)
  const session = response.ok && body.method === 'initialize' ? await offer.startSession?.(body.params) : undefined
  const answer = await answerOf(response, ending, end)
  return session === undefined ? answer : { ...answer, headers: { ...answer.headers, 'mcp-session-id': session } }
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

function serverOf(loaded: Sdk, offer: McpOffer, { era, log }: { era: 'modern' | 'legacy'; log: Log }): sdk.Server {
  const { info, instructions, handlers, openState } = offer
  // The SDK lets a server notify by what the client declared in the same message. An offer knows it from the session.
  class NotifyingServer extends loaded.Server {
    protected override assertNotificationCapability(): void {}
  }
  const server = new NotifyingServer(info, {
    ...(instructions !== undefined && { instructions }),
    ...(openState && { requestState: { verify: openState } }),
    // The SDK's own validator checks forms, which are not used here, and is expensive to create.
    jsonSchemaValidator: {
      // Its result is never used.
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
  })
  server.registerCapabilities(offer.capabilities(era))
  // The SDK types each method separately. An offer lists the methods that it handles.
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

/** An error of a payment dialect. The SDK refuses its own error -32042 in the era 2026-07-28. */
export class DialectError extends Error {
  override name = 'DialectError'
  readonly code: number
  readonly data: Json

  constructor({ code, message, data }: { code: number; message: string; data: Json }) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** Passes refusals on. Logs a defect and hides its details. */
function protocolError({ ProtocolError, ProtocolErrorCode }: Sdk, error: unknown, log: Log): Error {
  if (error instanceof ProtocolError || error instanceof DialectError) return error
  if (error instanceof Problem) return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, error.body)
  log.error('an MCP request failed', error)
  return new ProtocolError(ProtocolErrorCode.InternalError, problemSentence('internal_error'))
}
