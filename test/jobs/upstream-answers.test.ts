import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { nodeUpstream } from '../../adapters/node.js'
import { type Alarm, systemUpstream } from '../../src/base/ports.js'
import { ServiceEnding } from '../../src/http/ending.js'
import { readWhole } from '../../src/jobs/upstream/call.js'
import {
  byHand,
  call,
  ends,
  LIMIT,
  reasonOf,
  SHORT_MS,
  servers,
  type Told,
  textOf,
} from '../support/scenes/upstream-call.js'

const { serving, sending } = servers()

describe.each([
  ['the global fetch', systemUpstream],
  ["Node's port", nodeUpstream()],
])('A call by %s', (port, upstream) => {
  const ask = (url: string, told: Told = {}) => call(url, { upstream, ...told })

  test('returns status, media type, length and body', async () => {
    const url = await serving((_, res) =>
      res.writeHead(418, { 'content-type': 'text/plain; charset=utf-8' }).end('short'),
    )
    const answer = await ask(url)
    expect(answer).toMatchObject({ status: 418, contentType: 'text/plain; charset=utf-8', declaredLength: null })
    expect(await textOf(answer)).toBe('short')
    const sized = await serving((_, res) => res.writeHead(200, { 'content-length': 5 }).end('sized'))
    const second = await ask(sized)
    expect(second).toMatchObject({ status: 200, contentType: null, declaredLength: 5 })
    expect(await textOf(second)).toBe('sized')
  })

  test('returns failures of the endpoint like successes', async () => {
    const url = await serving((_, res) => res.writeHead(503).end('later'))
    const answer = await ask(url)
    expect([answer.status, await textOf(answer)]).toEqual([503, 'later'])
  })

  test.each([204, 205, 304])('returns a %i without a body', async (status) => {
    const url = await serving((_, res) => res.writeHead(status, { etag: '"1"' }).end())
    const answer = await ask(url)
    expect([answer.status, answer.declaredLength, await textOf(answer)]).toEqual([status, null, ''])
  })

  test.each([
    ['GET', null],
    ['POST', '{"ü":1}'],
    ['POST', null],
    ['PUT', ''],
  ] as const)('sends a %s with the body %j and only its own headers', async (method, body) => {
    const seen: [IncomingMessage, string][] = []
    const url = await serving(async (req, res) => {
      let text = ''
      for await (const chunk of req.setEncoding('utf8')) text += chunk
      seen.push([req, text])
      res.end()
    })
    const headers = { 'Content-Type': 'application/json', 'X-Key': 'é' }
    await readWhole(await ask(`${url}/a%20b?c=d%26#e`, { method, body, headers }))
    const [[req, text]] = seen as [[IncomingMessage, string]]
    expect([req.method, req.url, text]).toEqual([method, '/a%20b?c=d%26', body ?? ''])
    const { connection, accept, 'accept-language': language, 'user-agent': agent, ...given } = req.headers
    // What fetch adds of itself.
    delete given['sec-fetch-mode']
    if (port !== 'the global fetch') expect([accept, language, agent]).toEqual([undefined, undefined, undefined])
    delete given['cache-control']
    delete given.pragma
    delete given['content-length']
    expect(given).toEqual({
      host: new URL(url).host,
      'content-type': 'application/json',
      'x-key': 'é',
      'accept-encoding': 'identity',
      via: '1.1 farthing',
    })
  })

  test('requests no encoding, whatever its caller does', async () => {
    const url = await serving((req, res) => res.end(req.headers['accept-encoding']))
    expect(await textOf(await ask(url, { headers: { 'Accept-Encoding': 'gzip' } }))).toBe('identity')
  })

  test('stores no cookies', async () => {
    const url = await serving((req, res) =>
      res.writeHead(200, { 'set-cookie': 'a=b' }).end(req.headers.cookie ?? 'none'),
    )
    const answer = await ask(url)
    expect(Object.keys(answer).sort()).toEqual(['body', 'contentType', 'declaredLength', 'status'])
    expect([await textOf(answer), await textOf(await ask(url))]).toEqual(['none', 'none'])
  })

  test.each([
    ['inward', 302, 'http://169.254.169.254/latest/meta-data/'],
    ['to itself', 301, '/elsewhere'],
    ['to a file', 307, 'file:///etc/passwd'],
    ['for good', 308, '/elsewhere'],
    ['to look elsewhere', 303, '/elsewhere'],
    ['to choose', 300, undefined],
    ['that says not where to', 302, undefined],
  ])('does not follow a redirect %s', async (_, status, location) => {
    const asked: (string | undefined)[] = []
    const url = await serving((req, res) => {
      asked.push(req.url)
      res.writeHead(status, location === undefined ? {} : { location }).end('moved')
    })
    expect(await reasonOf(ask(`${url}/start`))).toBe('redirect')
    expect(asked).toEqual(['/start'])
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('decodes unrequested %s, and reports no length', async (coding, encode) => {
    const url = await serving((_, res) => {
      const body = encode('as it was')
      res.writeHead(200, { 'content-encoding': coding, 'content-length': body.length }).end(body)
    })
    const answer = await ask(url)
    expect([answer.declaredLength, await textOf(answer)]).toEqual([null, 'as it was'])
  })

  test.each([
    ['gzip', (bytes: Buffer) => gzipSync(bytes)],
    // Its best quality takes seconds.
    ['br', (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ] as const)('stops a decompression bomb of %s at the limit', async (coding, encode) => {
    const bomb = encode(Buffer.alloc(50 * LIMIT))
    expect(bomb.length).toBeLessThan(LIMIT)
    const url = await serving((_, res) => res.writeHead(200, { 'content-encoding': coding }).end(bomb))
    const { body } = await ask(url)
    let taken = 0
    const read = async () => {
      for await (const chunk of body) taken += chunk.length
    }
    expect(await reasonOf(read())).toBe('too_large')
    expect(taken).toBeLessThanOrEqual(LIMIT)
  })

  test('accepts a body of exactly the limit', async () => {
    const url = await serving((req, res) => {
      // In two pieces, so that its length is not known before.
      res.write(Buffer.alloc(10))
      res.end(Buffer.alloc(LIMIT - (req.url === '/more' ? 9 : 10)))
    })
    expect(await readWhole(await ask(url))).toHaveLength(LIMIT)
    expect(await reasonOf(ask(`${url}/more`).then(readWhole))).toBe('too_large')
  })

  test('refuses an answer whose Content-Length exceeds the limit', async () => {
    const connections: Promise<void>[] = []
    const url = await serving((req, res) => {
      connections.push(ends(req.socket))
      res.writeHead(200, { 'content-length': LIMIT + 1 }).write('begun')
    })
    expect(await reasonOf(ask(url))).toBe('too_large')
    await connections[0]
  })

  test('stops an endless body at the limit, and closes its connection', async () => {
    const connections: Promise<void>[] = []
    const url = await serving((req, res) => {
      connections.push(ends(req.socket))
      const more = () => res.write(Buffer.alloc(16_384)) && setImmediate(more)
      res.on('drain', more)
      more()
    })
    expect(await reasonOf(ask(url).then(readWhole))).toBe('too_large')
    await connections[0]
  })

  test('times out before the headers arrive', async () => {
    const connections: Promise<void>[] = []
    const url = await serving((req) => connections.push(ends(req.socket)))
    expect(await reasonOf(ask(url, { upstreamMs: SHORT_MS }))).toBe('timeout')
    await connections[0]
  })

  test('times out within the headers', async () => {
    const url = await sending((socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: b'))
    expect(await reasonOf(ask(url, { upstreamMs: SHORT_MS }))).toBe('timeout')
  })

  test('times out within a body, however steadily its bytes arrive', async () => {
    const connections: Promise<void>[] = []
    const url = await serving((req, res) => {
      const drip = setInterval(() => res.write('.'), 20)
      connections.push(ends(req.socket).then(() => clearInterval(drip)))
    })
    const { alarm, ring } = byHand()
    const { body } = await ask(url, { alarm })
    const reader = body.getReader()
    for (const _ of [1, 2, 3]) await reader.read()
    ring()
    expect(await reasonOf(reader.read())).toBe('timeout')
    await connections[0]
  })

  test('times out although nobody reads', async () => {
    const connections: Promise<void>[] = []
    const url = await serving((req, res) => {
      connections.push(ends(req.socket))
      res.write('begun')
    })
    const { alarm, ring } = byHand()
    const answer = await ask(url, { alarm })
    ring()
    await connections[0]
    expect(await reasonOf(readWhole(answer))).toBe('timeout')
  })

  test('is not made any more once a closing service has ended its calls, and leaves no alarm', async () => {
    const asked: string[] = []
    const url = await serving((req, res) => {
      asked.push(req.url ?? '')
      res.end()
    })
    const closing = byHand()
    const ending = new ServiceEnding({ set: (ms, ring) => (ms < 1000 ? closing.alarm.set(ms, ring) : () => {}) })
    ending.close(1000)
    closing.ring()
    const running = new Set<object>()
    const alarm: Alarm = {
      set: () => {
        const set = {}
        running.add(set)
        return () => running.delete(set)
      },
    }
    expect(await reasonOf(ask(url, { ending, alarm }))).toBe('timeout')
    expect([asked, running.size]).toEqual([[], 0])
  })

  test('closes its connection when the body is cancelled', async () => {
    const connections: Promise<void>[] = []
    const url = await serving((req, res) => {
      connections.push(ends(req.socket))
      res.write('begun')
    })
    const { body } = await ask(url)
    const reader = body.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('begun')
    await reader.cancel()
    await connections[0]
  })

  test.each([
    ['its length says', 'content-length: 10\r\n\r\nhalf'],
    ['its chunks say', 'transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
    ['its chunk says', 'transfer-encoding: chunked\r\n\r\n9\r\nhalf'],
    ['its length says, of which nothing came', 'content-length: 10\r\n\r\n'],
  ])('throws if a body is shorter than %s', async (_, rest) => {
    const url = await sending((socket) => socket.end(`HTTP/1.1 200 OK\r\n${rest}`))
    expect(await reasonOf(ask(url).then(readWhole))).toBe('broken_off')
  })

  test('is unreachable if nobody listens, or if the answer is not HTTP', async () => {
    const closed = createServer()
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    expect(await reasonOf(ask(`http://127.0.0.1:${port}/`))).toBe('unreachable')
    const mail = await sending((socket) => socket.end('220 mail.example.test ESMTP\r\n'))
    expect(await reasonOf(ask(mail))).toBe('unreachable')
    const silent = await sending((socket) => socket.end())
    expect(await reasonOf(ask(silent))).toBe('unreachable')
    const other = await sending((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n'),
    )
    expect(await reasonOf(ask(other))).toBe('unreachable')
    const strange = await sending((socket) => socket.end('HTTP/1.1 999 Strange\r\ncontent-length: 0\r\n\r\n'))
    expect(await reasonOf(ask(strange))).toBe('unreachable')
  })

  test('is unreachable with an unknown name', async () => {
    expect(await reasonOf(ask('http://nobody.invalid/?token=hunter2'))).toBe('unreachable')
  })

  test('skips informational responses', async () => {
    const url = await sending((socket) =>
      socket.end('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone'),
    )
    const answer = await ask(url)
    expect([answer.status, await textOf(answer)]).toEqual([200, 'done'])
  })

  test('does not repeat the request in its error', async () => {
    const failure = await ask('http://127.0.0.1:1/secret-path?token=hunter2').catch((error: unknown) => error)
    expect(String(failure)).toBe('UpstreamFailure: The upstream service could not be reached.')
  })
})
