import type { OwnBytes } from '../base/ports.js'
import { type Reply, reply } from './reply.js'

interface RelayedAnswer {
  readonly status: number
  /** Null: unknown. */
  readonly contentType: string | null
  readonly body: string | OwnBytes | ReadableStream<Uint8Array> | null
  readonly headers: Readonly<Record<string, string>>
}

/** The answer of an upstream service with its status and type, and headers of our own. */
export function relayed({ status, contentType, body, headers }: RelayedAnswer): Reply {
  const type = { 'content-type': contentType ?? 'application/octet-stream' }
  return reply({ status, headers: { ...headers, ...sandboxed, ...type }, body: hasNoBody(status) ? null : body })
}

/** An upstream answer is not a page of the service: in a browser it gets no origin and runs no script. */
const sandboxed = { 'content-security-policy': "sandbox; default-src 'none'" }

const hasNoBody = (status: number): boolean => [204, 205, 304].includes(status)
