import { lookup as systemLookup } from 'node:dns/promises'
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { pipeline, type Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Upstream, UpstreamRequest } from '../../src/core.js'

/** One of the IP addresses of a name. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

export interface NodeUpstreamOptions {
  /** Returns all addresses of a name. Default: `dns.lookup`. */
  lookup?: (name: string) => Promise<readonly ResolvedAddress[]>
}

/**
 * Calls upstream services on Node. It resolves each name once, checks every address, and connects only to addresses that it
 * checked, so a name that changes its address afterwards gains nothing. It uses no proxy, and each connection only once.
 * Rejects if any address of the name is refused.
 */
export function nodeUpstream({
  lookup = (name) => systemLookup(name, { all: true }),
}: NodeUpstreamOptions = {}): Upstream {
  return {
    async fetch(request) {
      const url = new URL(request.url)
      const addresses = await addressesOf(url, lookup)
      // One refused address is enough: someone may have added it to the name on purpose.
      if (addresses.length === 0 || !addresses.every(({ address }) => request.mayConnect(address)))
        throw new Error('the address of the upstream service is refused')
      request.signal.throwIfAborted()
      return responseOf(await send(url, request, addresses))
    },
  }
}

/** The addresses to connect to, in turn. An IP address needs no lookup. */
async function addressesOf({ hostname }: URL, lookup: NonNullable<NodeUpstreamOptions['lookup']>) {
  const host = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  return family ? [{ address: host, family }] : [...(await lookup(host))]
}

/** How long to try one address before the next one. Node's default, a quarter second, is too short for a different continent. */
const ATTEMPT_MS = 2500

function send(url: URL, request: UpstreamRequest, addresses: readonly ResolvedAddress[]): Promise<IncomingMessage> {
  const { method, headers, signal } = request
  // As bytes: with a string body, Node writes the headers in the encoding of that string.
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
      // Without this, an answer without a length would end normally when the connection is reset.
      sent.on('error', (error) => answer.destroy(error))
      resolve(answer)
    })
    sent.once('upgrade', (_, socket) => {
      socket.destroy()
      reject(new Error('the upstream service switched to a different protocol'))
    })
    sent.on('error', reject)
    sent.end(bytes)
  })
}

/** Returns the checked addresses instead of looking the name up again. */
function answering(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_name, { all }, callback) => {
    const [first] = addresses
    if (all) callback(null, [...addresses])
    else if (first) callback(null, first.address, first.family)
    else callback(new Error('the upstream service has no address'), '')
  }
}

/** The headers of an answer that are passed on. */
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

/** Decodes an answer: some services compress it although the request does not allow that. Throws for an unknown coding, or several. */
function decoded(answer: IncomingMessage): Readable {
  const coding = (answer.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (coding === 'identity' || coding === '') return answer
  const decoder = decoders.get(coding)?.()
  if (!decoder) throw new Error('the upstream service answered in an unknown encoding')
  // The decoder passes errors to its reader.
  return pipeline(answer, decoder, () => {})
}

const decoders = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
])

/** A web stream that reads only on demand. Errors if the source ends too early. */
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
