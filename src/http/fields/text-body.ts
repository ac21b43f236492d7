import { problem } from '../../base/problem.js'
import { type BodySource, chunksOf, mediaType } from './body.js'

/** A body that a route reads as a stream of text. */
export interface TextBody {
  /** Its media type, such as `text/csv`. */
  readonly type: string
  /** In bytes. */
  readonly limit: number
}

interface Sent {
  readonly request: Request
  readonly headers: Pick<Headers, 'get'>
  readonly source: BodySource
}

/** Reads a body as text, in pieces. Throws `content_type_refused` at once, and `body_too_large` or `body_malformed` while it reads. */
export function readText({ request, headers, source }: Sent, { type, limit }: TextBody): AsyncIterable<string> {
  if (mediaType(headers.get('content-type')) !== type)
    throw problem('content_type_refused', { detail: `This body must be ${type}.` })
  const tooLarge = () => problem('body_too_large', { detail: `The limit is ${limit} bytes.` })
  if (Number(headers.get('content-length') ?? 0) > limit) throw tooLarge()
  return decoded(source.chunks ? source.chunks() : chunksOf(request), { limit, tooLarge })
}

async function* decoded(
  chunks: AsyncIterable<Uint8Array>,
  { limit, tooLarge }: { limit: number; tooLarge: () => Error },
): AsyncGenerator<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  let size = 0
  for await (const chunk of complete(chunks)) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge()
    yield decodeText(() => utf8.decode(chunk, { stream: true }))
  }
  yield decodeText(() => utf8.decode())
}

async function* complete(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
  } catch (cause) {
    throw problem('body_malformed', { detail: 'It was incomplete.', cause })
  }
}

function decodeText(decode: () => string): string {
  try {
    return decode()
  } catch (cause) {
    throw problem('body_malformed', { detail: 'It is not UTF-8.', cause })
  }
}
