import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Fault } from '../../src/sandbox/onion/fault.js'
import { MOST_BODY } from './fields.js'
import { passedHeaders } from './forwarding.js'
import { AnswerBroken } from './own-answers.js'
import type { ProxiedCall, ProxyRecord } from './proxy-record.js'

/** A call that a proxy passes on or lets fail. */
export interface Passing {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly record: ProxyRecord
  readonly call: ProxiedCall
  readonly fault: Fault | undefined
  /** Below the address of the service, with its query. */
  readonly path: string
}

const EVENTS = /^text\/event-stream\b/i
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i

/** Streams an answer to its caller. If the caller leaves, the service is still listened to. Throws `AnswerBroken`. */
export async function passOn(answer: IncomingMessage, { response, record, call }: Passing): Promise<void> {
  const status = answer.statusCode ?? 502
  const head: Buffer[] = []
  let length = 0
  // A caller that has the last piece may leave at once. Before that, the answer is recorded as seen.
  let held: Buffer | undefined
  response.sendDate = false
  response.writeHead(status, answer.statusMessage, passedHeaders(answer))
  const type = answer.headers['content-type'] ?? ''
  const isLive = EVENTS.test(type) || (call.matched.call === undefined && !JSON_TYPE.test(type))
  if (isLive) response.flushHeaders()
  for await (const piece of piecesOf(answer)) {
    length += piece.length
    if (length <= MOST_BODY) head.push(piece)
    else head.length = 0
    await writeTo(response, isLive ? piece : held)
    held = isLive ? undefined : piece
  }
  const body = length <= MOST_BODY ? Buffer.concat(head) : undefined
  const show = record.answered(call, status, { headers: answer.headers, body })
  if (response.destroyed) return
  show()
  response.end(held)
}

async function* piecesOf(answer: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* answer
  } catch (cause) {
    throw new AnswerBroken('the answer broke off', { cause })
  }
}

/** Writes as fast as the caller reads. */
async function writeTo(response: ServerResponse, piece: Buffer | undefined): Promise<void> {
  if (!piece || response.destroyed || response.write(piece)) return
  await new Promise<void>((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end)
      resolve()
    }
    response.on('drain', end).on('close', end)
  })
}

export function closedOrAfter(response: ServerResponse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    response.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
