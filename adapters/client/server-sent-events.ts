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
