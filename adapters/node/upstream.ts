import { lookup as systemLookup } from 'node:dns/promises'
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { pipeline, type Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Upstream, UpstreamRequest } from '../../src/core.js'

/** One address that a name stands for. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

export interface NodeUpstreamOptions {
  /** Gives all addresses of a name. Default: the system's, as `dns.lookup` has them. */
  lookup?: (name: string) => Promise<readonly ResolvedAddress[]>
}

/**
 * Calls upstream services on Node. It resolves names itself, judges every address, and connects to none but those it judged:
 * a name that stands for another address a moment later gains nothing. No proxy is used, and no connection is used twice.
 */
export function nodeUpstream({
  lookup = (name) => systemLookup(name, { all: true }),
}: NodeUpstreamOptions = {}): Upstream {
  return {
    async fetch(request) {
      const url = new URL(request.url)
      const addresses = await addressesOf(url, lookup)
      // Of a name with one refused address, somebody may have made it stand for that on purpose.
      if (addresses.length === 0 || !addresses.every(({ address }) => request.mayConnect(address)))
        throw new Error('the address of the upstream service is refused')
      request.signal.throwIfAborted()
      return responseOf(await send(url, request, addresses))
    },
  }
}

/** Node connects to an address without looking it up, and to each of several in turn. */
async function addressesOf(
  { hostname }: URL,
  lookup: NonNullable<NodeUpstreamOptions['lookup']>,
): Promise<readonly ResolvedAddress[]> {
  const host = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  return family ? [{ address: host, family }] : [...(await lookup(host))]
}

/** How long one of several addresses may take, before the next is tried: Node's quarter second is short for another continent. */
const ATTEMPT_MS = 2500

function send(url: URL, request: UpstreamRequest, addresses: readonly ResolvedAddress[]): Promise<IncomingMessage> {
  const { method, headers, signal } = request
  // As bytes: Node writes the headers in the encoding of a text that goes with them.
  const bytes = request.body === null ? undefined : Buffer.from(request.body)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const options: RequestOptions & { servername: string; autoSelectFamily: boolean } & Record<string, unknown> = {
    host,
    port: url.port === '' ? undefined : Number(url.port),
    path: url.pathname + url.search,
    method,
    headers: {
      ...headers,
      host: url.host,
      ...(bytes && { 'content-length': String(bytes.length) }),
    },
    servername: isIP(host) ? '' : host.replace(/\.$/, ''),
    lookup: answering(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    agent: false,
    signal,
  }
  return new Promise((resolve, reject) => {
    const sent = (url.protocol === 'https:' ? requestHttps : requestHttp)(options)
    sent.once('response', (answer) => {
      // A connection that is reset ends well what has no length, if it is not told otherwise.
      sent.on('error', (error) => answer.destroy(error))
      resolve(answer)
    })
    sent.once('upgrade', (_, socket) => {
      socket.destroy()
      reject(new Error('the upstream service speaks another protocol'))
    })
    sent.on('error', reject)
    sent.end(bytes)
  })
}

/** Looks nothing up: the addresses are there, and judged. */
function answering(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_name, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, [...addresses])
    else if (first) callback(null, first.address, first.family)
    else callback(new Error('the upstream service has no address'), '')
  }
}

/** What is looked at of an answer's headers. */
const passed = ['content-type', 'content-length', 'content-encoding'] as const
const bodiless = [204, 205, 304]

function responseOf(answer: IncomingMessage): Response {
  try {
    const status = answer.statusCode ?? 0
    const headers = passed.flatMap((name) => {
      const value = answer.headers[name]
      return value === undefined ? [] : [[name, value] satisfies [string, string]]
    })
    if (bodiless.includes(status)) answer.destroy()
    return new Response(bodiless.includes(status) ? null : streamOf(decoded(answer)), { status, headers })
  } catch (error) {
    answer.destroy()
    throw error
  }
}

/** Some encode what was asked for as it is. Throws where they do it in a way that is not known, or in several. */
function decoded(answer: IncomingMessage): Readable {
  const coding = (answer.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (coding === 'identity' || coding === '') return answer
  const decoder = decoders.get(coding)?.()
  if (!decoder) throw new Error('the upstream service answered in an encoding that is not known')
  // What went wrong, the decoder says to who reads it.
  return pipeline(answer, decoder, () => {})
}

const decoders = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
])

/** Reads as it is read from, and errors where the stream ends before its end. */
function streamOf(readable: Readable): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Buffer> = readable[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
      },
      cancel: () => void readable.destroy(),
    },
    { highWaterMark: 0 },
  )
}
