import { AnswerDropped } from '../../http/around.js'
import type { FaultyAnswer } from '../onion/fault.js'

type Body = FaultyAnswer['body']
type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer> | Uint8Array>

/** How many pieces of a dripping body arrive in a second. */
const PIECES_A_SECOND = 10

/** An answer whose body arrives in another way. It still declares its whole length. */
export function changedBody(answer: FaultyAnswer, change: (chunks: Chunks) => Chunks): FaultyAnswer {
  const { headers, body } = answer
  const length = lengthOf(body)
  return {
    ...answer,
    headers: { ...headers, ...(length !== undefined && { 'content-length': String(length) }) },
    body: streamOf(change(chunksOf(body))),
  }
}

/** The length of a body in bytes. Undefined for a stream. */
export const lengthOf = (body: Body): number | undefined =>
  body instanceof ReadableStream ? undefined : wholeOf(body).length

/** Breaks off after this many bytes. */
export const truncated = (bytes: number, faultId: string) =>
  async function* (chunks: Chunks): Chunks {
    let left = bytes
    for await (const chunk of chunks) {
      const part = chunk.subarray(0, left)
      left -= part.length
      if (part.length > 0) yield part
      if (part.length < chunk.length) throw new AnswerDropped(faultId)
    }
  }

/** Arrives slowly. */
export const dripping = (bytesPerSecond: number, wait: (ms: number) => Promise<void>) =>
  async function* (chunks: Chunks): Chunks {
    const size = Math.max(1, Math.floor(bytesPerSecond / PIECES_A_SECOND))
    for await (const chunk of chunks)
      for (let at = 0; at < chunk.length; at += size) {
        const piece = chunk.subarray(at, at + size)
        await wait((piece.length * 1000) / bytesPerSecond)
        yield piece
      }
  }

/** Pauses once, after this many bytes. */
export const paused = (bytes: number, pause: () => Promise<void>) =>
  async function* (chunks: Chunks): Chunks {
    let left = bytes
    for await (const chunk of chunks) {
      if (left >= 0 && chunk.length > left) {
        if (left > 0) yield chunk.subarray(0, left)
        await pause()
        yield chunk.subarray(left)
        left = -1
      } else {
        yield chunk
        if (left >= 0) left -= chunk.length
      }
    }
  }

/** Ends what a body comes from, because nobody reads it. */
export function discardBody(body: Body): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => {})
}

const wholeOf = (body: Exclude<Body, ReadableStream>): Uint8Array<ArrayBuffer> =>
  typeof body === 'string' ? new TextEncoder().encode(body) : (body ?? new Uint8Array())

async function* chunksOf(body: Body): Chunks {
  if (!(body instanceof ReadableStream)) {
    yield wholeOf(body)
    return
  }
  const reader = body.getReader()
  let isRead = false
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
    isRead = true
  } finally {
    if (!isRead) reader.cancel().catch(() => {})
  }
}

/** Reads only on demand: an error discards what a stream holds that nobody has read. */
const streamOf = (chunks: Chunks): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      async cancel() {
        await chunks.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
