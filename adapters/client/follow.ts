import { pause } from './call.js'
import { Refusal } from './refusal.js'

export interface Followed {
  /** The id of the event after which the stream begins. */
  readonly from: () => Promise<string>
  /** Opens the stream behind the event with this id. */
  readonly open: (lastId: string) => Promise<Response>
  readonly signal: AbortSignal | undefined
}

const FIRST_MS = 100
const LONGEST_MS = 5000

/**
 * Streams what is new, and connects again after a cut, behind the last event that it passed on. Throws what the first
 * connection throws, a later refusal, and the reason of the signal if that fires.
 */
export async function* follow({ from, open, signal }: Followed): AsyncGenerator<unknown> {
  let lastId = await from()
  let response: Response | undefined = await open(lastId)
  for (let idle = 0; ; idle++) {
    try {
      response ??= await open(lastId)
      for await (const { id, type, data } of messagesOf(response, signal)) {
        idle = 0
        const event: object = JSON.parse(data)
        // The message about removed events has neither its type nor its id inside.
        yield type === 'events.removed' ? { id: Number(id), type, data: event } : event
        // The caller has seen it.
        lastId = id ?? lastId
      }
    } catch (error) {
      signal?.throwIfAborted()
      // Everything else is a cut of the network, or a service that starts again.
      if (error instanceof SyntaxError || (error instanceof Refusal && error.status !== 503)) throw error
    }
    response = undefined
    await pause(Math.min(LONGEST_MS, idle * FIRST_MS), signal)
  }
}

export interface Message {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

/** Reads a stream of server-sent events (HTML standard, section "Server-sent events"). Ends when the signal fires. */
export async function* messagesOf({ body }: Response, signal: AbortSignal | undefined): AsyncGenerator<Message> {
  if (!body) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const stop = () => void reader.cancel().catch(() => {})
  signal?.addEventListener('abort', stop, { once: true })
  try {
    for (let rest = ''; ; ) {
      signal?.throwIfAborted()
      const { value, done } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/)
      rest = blocks.pop() ?? ''
      yield* blocks.map(messageIn).filter(({ data }) => data !== '')
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
  }
}

function messageIn(block: string): Message {
  // A line that begins with a colon is a comment.
  const fields = block.split(/\r?\n/).map((line) => /^(\w+)(?::| |$) ?([\s\S]*)/.exec(line) ?? [])
  const valuesOf = (name: string) => fields.flatMap(([, field, value = '']) => (field === name ? [value] : []))
  return { id: valuesOf('id').at(-1), type: valuesOf('event').at(-1) ?? 'message', data: valuesOf('data').join('\n') }
}
