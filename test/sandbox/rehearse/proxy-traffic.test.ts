import { createServer, get, type IncomingMessage, request } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { proxyStage } from '../../../sandbox/proxy/proxy.js'
import type { RehearsedFault } from '../../../src/sandbox/rehearse/plan.js'
import { RehearsalRefused, rehearseOn } from '../../../src/sandbox/rehearse/rehearse-stage.js'
import { deferred } from '../../support/pieces.js'
import { exchange, listening, PAID, pay, send, startProxy, startService } from './proxied.js'

/** What a proxy passes on, and what it says when its service gives no answer. */

const fault = (kind: RehearsedFault) => [{ kind, operation: 'pay', nth: 1 }]

/** A service that answers with bytes, whatever it is asked. */
const startRaw = (answer: (socket: Socket) => void) =>
  listening(
    createTcpServer((socket) => {
      socket.on('error', () => {}).once('data', () => answer(socket))
    }),
  )

describe('a service that gives no answer', () => {
  const statusLine = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
  const cases: [title: string, to: () => Promise<string>, status: number, error: string, sentence: RegExp][] = [
    [
      'nothing listens',
      async () => {
        const server = createTcpServer()
        const port = await listening(server)
        await new Promise((resolve) => server.close(resolve))
        return `http://localhost:${port}`
      },
      ...([502, 'connection_refused', /^farthing proxy: Nothing listens at localhost:\d+\.\n$/] as const),
    ],
    [
      'no such name',
      async () => 'http://name.invalid',
      502,
      'dns_error',
      /^farthing proxy: No address is known for name\.invalid\.\n$/,
    ],
    [
      'it closes the connection',
      async () => `http://127.0.0.1:${await startRaw((socket) => socket.destroy())}`,
      ...([502, 'connection_terminated', /^farthing proxy: 127\.0\.0\.1:\d+ closed the connection before/] as const),
    ],
    [
      'it speaks another protocol',
      async () => `http://127.0.0.1:${await startRaw((socket) => void socket.end('SSH-2.0-secret\r\n'))}`,
      ...([
        502,
        'http_protocol_error',
        /^farthing proxy: 127\.0\.0\.1:\d+ answers with something that is not HTTP/,
      ] as const),
    ],
    [
      'it asks to switch protocols',
      async () =>
        `http://127.0.0.1:${await startRaw((socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'))}`,
      ...([502, 'connection_terminated', /closed the connection/] as const),
    ],
    [
      'it is silent',
      async () => `http://127.0.0.1:${await startRaw(() => {})}`,
      ...([504, 'http_response_timeout', /has not answered: it was silent for 0\.2 seconds\.\n$/] as const),
    ],
    [
      'it speaks no TLS',
      async () => `https://127.0.0.1:${await startRaw((socket) => void socket.end(`${statusLine}\r\n`))}`,
      ...([502, 'tls_protocol_error', /does not speak TLS/] as const),
    ],
  ]

  test.each(cases)('%s', async (_, to, status, error, sentence) => {
    const { port, record } = await startProxy(await to(), { silentMs: 200 })
    const answer = await pay(port)
    expect(answer.status).toBe(status)
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'proxy-status': `farthing; error=${error}`,
    })
    expect(String(answer.body)).toMatch(sentence)
    expect((await record()).calls).toMatchObject([{ status, outcome: 'unknown', code: error }])
  })

  test('an answer that breaks off breaks off for the client, and is no answer', async () => {
    for (const framing of ['content-length: 100\r\n\r\n{"id"', 'transfer-encoding: chunked\r\n\r\n5\r\n{"id"\r\n']) {
      const to = await startRaw((socket) => void socket.end(statusLine + framing))
      const { port, record } = await startProxy(`http://127.0.0.1:${to}`)
      await expect(pay(port)).rejects.toThrow()
      const { calls, payments } = await record()
      expect(calls).toMatchObject([{ status: null, outcome: 'unknown', code: 'http_response_incomplete' }])
      expect(payments).toEqual([])
    }
  })

  test('a rehearsal says so, and not that the client fails', async () => {
    const { proxy } = await startProxy('http://127.0.0.1:1')
    const run = async (url: string) => {
      await fetch(`${url}/pay`, { method: 'POST', body: '{}' })
      return { ended: { isOk: true, result: '' }, output: '' }
    }
    const rehearsed = rehearseOn(proxyStage(proxy, run))
    await expect(rehearsed).rejects.toThrow(RehearsalRefused)
    await expect(rehearsed).rejects.toThrow('The service did not answer. Nothing listens at 127.0.0.1:1.')
  })

  test('a run ends without it, and what it left is ended', async () => {
    const { promise: ended, resolve: left } = deferred<void>()
    const { promise: arrived, resolve: arrive } = deferred<void>()
    const to = await listening(
      createTcpServer(
        (socket) =>
          void socket
            .on('error', () => {})
            .once('data', () => arrive())
            .resume()
            .once('close', () => left()),
      ),
    )
    const { port, proxy } = await startProxy(`http://127.0.0.1:${to}`)
    const paid = pay(port).catch(() => 'left')
    await arrived
    const { calls } = await proxy.end({ ended: { isOk: true, result: undefined }, output: '' }, { withinMs: 20 })
    expect(calls).toMatchObject([{ status: null }])
    await proxy.close()
    expect(await Promise.all([paid, ended])).toContain('left')
    expect(proxy.failure).toBeUndefined()
  })
})

describe('answers', () => {
  const body = JSON.stringify(PAID)

  test.each<[string, string, Parameters<typeof send>[2], { status: number; headers?: object; body: string }]>([
    [
      'HEAD',
      `HTTP/1.1 200 OK\r\ncontent-length: 120\r\n\r\n`,
      { method: 'HEAD' },
      { status: 200, headers: { 'content-length': '120' }, body: '' },
    ],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', {}, { status: 204, body: '' }],
    ['304', 'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n', {}, { status: 304, headers: { etag: '"a"' }, body: '' }],
    [
      '103 before',
      `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`,
      {},
      { status: 200, body: 'ok' },
    ],
    [
      '100 before',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`,
      {},
      { status: 200, body: 'ok' },
    ],
    [
      'a redirect',
      'HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/b\r\ncontent-length: 0\r\n\r\n',
      {},
      { status: 307, headers: { location: 'http://127.0.0.1:1/b' }, body: '' },
    ],
    ['an end by closing', `HTTP/1.0 200 OK\r\n\r\n${body}`, {}, { status: 200, body }],
    [
      'chunks',
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
      {},
      { status: 200, body: 'ok' },
    ],
    ['a reason of its own', 'HTTP/1.1 402 Pay First\r\ncontent-length: 0\r\n\r\n', {}, { status: 402, body: '' }],
    [
      'another upgrade',
      'HTTP/1.1 426 Upgrade Required\r\nupgrade: TLS/1.2\r\nconnection: upgrade, x-hop\r\nx-hop: a\r\ncontent-length: 0\r\n\r\n',
      {},
      { status: 426, body: '' },
    ],
  ])('%s', async (title, raw, sent, expected) => {
    for (const path of ['/pay', '/other']) {
      const to = await startRaw((socket) => void socket.end(raw))
      const { port } = await startProxy(`http://127.0.0.1:${to}`)
      const method = path === '/pay' && sent?.method === undefined ? 'POST' : (sent?.method ?? 'GET')
      const answer = await send(port, path, { ...sent, method })
      expect({ ...answer, body: String(answer.body) }).toMatchObject(expected)
      if (title === 'a reason of its own') expect(answer.reason).toBe('Pay First')
      const names = Object.keys(answer.headers)
      for (const name of ['proxy-status', 'via', 'date', 'x-hop', 'upgrade']) expect(names).not.toContain(name)
    }
  })

  test('keep several cookies, their order, their spelling and their bytes', async () => {
    const { port: to } = await startService((response) => {
      response.writeHead(200, [
        'Set-Cookie',
        'a=1',
        'X-Name',
        'Zo\xc3\xab',
        'SET-COOKIE',
        'b=2; Secure',
        'Content-Length',
        '0',
      ] as never)
      response.end()
    })
    const { port } = await startProxy(`http://127.0.0.1:${to}`)
    const { rawHeaders } = await pay(port)
    expect(rawHeaders.slice(0, 8)).toEqual([
      'Set-Cookie',
      'a=1',
      'X-Name',
      'Zo\xc3\xab',
      'SET-COOKIE',
      'b=2; Secure',
      'Content-Length',
      '0',
    ])
  })

  test.each(['/pay', '/other'])('%s: of 50 MB, little is in memory while the client reads slowly', async (path) => {
    const [size, piece] = [50 * 1024 * 1024, Buffer.alloc(64 * 1024, 'a')]
    let written = 0
    const to = await listening(
      createServer((request, response) => {
        request.resume()
        const write = () => {
          while (written < size) {
            written += piece.length
            if (!response.write(piece)) return void response.once('drain', write)
          }
          response.end()
        }
        write()
      }),
    )
    const { port } = await startProxy(`http://127.0.0.1:${to}`)
    const read = await new Promise<number>((resolve) => {
      const answer = async (slow: AsyncIterable<Buffer>) => {
        let [length, most] = [0, 0]
        for await (const part of slow) {
          if (length === 0) await new Promise((next) => setTimeout(next, 200))
          length += part.length
          most = Math.max(most, written - length)
        }
        // What the sockets of both sides hold, and no more.
        expect(most).toBeLessThan(20 * 1024 * 1024)
        resolve(length)
      }
      if (path === '/pay')
        void fetch(`http://127.0.0.1:${port}/pay`, { method: 'POST' }).then(({ body }) => answer(body as never))
      else get(`http://127.0.0.1:${port}/other`, answer)
    })
    expect(read).toBe(size)
  })

  test('a late one is whole, however long', async () => {
    const long = 'a'.repeat(3_000_000)
    const { port: to } = await startService((response) => void response.end(long))
    const { port } = await startProxy(`http://127.0.0.1:${to}`, { plan: fault('slow') })
    expect(String((await pay(port)).body)).toBe(long)
  })

  test('a late one is recorded, although its client has left', async () => {
    const { port: to } = await startService()
    const { url, record } = await startProxy(`http://127.0.0.1:${to}`, { plan: fault('slow'), slowMs: 5000 })
    const left = fetch(`${url}/pay`, { method: 'POST', body: '{"amount":5}', signal: AbortSignal.timeout(100) })
    await expect(left).rejects.toThrow()
    const { calls, payments } = await record()
    expect(calls).toMatchObject([{ status: null, outcome: 'unknown', shownPayments: [] }])
    expect(payments).toMatchObject([{ amount: '5', status: 'posted' }])
  })
})

describe('requests', () => {
  test('reach the service as they are, without headers of a connection or of the proxy', async () => {
    const { port: to, asked } = await startService()
    const { port } = await startProxy(`http://127.0.0.1:${to}`)
    const headers = {
      ...{ 'X-Theirs': 'yes', connection: 'close, x-hop', 'x-hop': '1', te: 'trailers', 'proxy-authorization': 'a' },
      ...{ 'keep-alive': 'timeout=1', upgrade: 'h2c', cookie: 'a=1; b=2', Accept: ['a/a', 'b/b'] },
    }
    await pay(port, { headers })
    expect(asked[0]?.rawHeaders).toEqual([
      ...['X-Theirs', 'yes', 'cookie', 'a=1; b=2', 'Accept', 'a/a', 'Accept', 'b/b', 'content-length', '12'],
      ...['host', `127.0.0.1:${to}`, 'Connection', 'close'],
    ])
  })

  /** Each is one request to the service, with this body. */
  test.each<[string, string, string | undefined]>([
    ['chunks', 'POST /pay HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', 'ok'],
    [
      'a DELETE in chunks',
      'DELETE /pay HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1d\r\nGET /evil HTTP/1.1\r\nhost: b\r\n\r\n0\r\n\r\n',
      'GET /evil HTTP/1.1\r\nhost: b\r\n',
    ],
    [
      'a GET with a body',
      'GET /other HTTP/1.1\r\nhost: localhost\r\ncontent-length: 24\r\n\r\nGET /evil HTTP/1.1\r\n\r\n  ',
      'GET /evil HTTP/1.1\r\n\r\n  ',
    ],
    [
      'a length that is named in connection',
      'GET /other HTTP/1.1\r\nhost: localhost\r\nconnection: content-length\r\ncontent-length: 2\r\n\r\nok',
      'ok',
    ],
    ['no length', 'POST /pay HTTP/1.1\r\nhost: localhost\r\n\r\n', ''],
    ['Expect', 'POST /pay HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\nok', 'ok'],
    ['another Expect', 'POST /pay HTTP/1.1\r\nhost: localhost\r\nexpect: payment\r\ncontent-length: 2\r\n\r\nok', 'ok'],
    ['an Upgrade', 'GET /other HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n', ''],
    [
      'both framings',
      'POST /pay HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      undefined,
    ],
    [
      'two lengths',
      'POST /pay HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nokk',
      undefined,
    ],
    [
      'a framing that nobody knows',
      'POST /pay HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n',
      undefined,
    ],
    ['a folded header', 'POST /pay HTTP/1.1\r\nhost: localhost\r\ncontent-length\r\n : 3\r\n\r\nokk', undefined],
    ['no HTTP', 'hello\r\n\r\n', undefined],
  ])('%s', async (_, text, body) => {
    const { port: to, asked } = await startService()
    const { port } = await startProxy(`http://127.0.0.1:${to}`)
    const answer = await exchange(port, text)
    expect(asked.map((each) => each.body)).toEqual(body === undefined ? [] : [body])
    if (body !== undefined) expect(answer).toContain('HTTP/1.1 200 OK')
    else
      expect(answer).toMatch(
        /^HTTP\/1\.1 400 Bad Request\r\n(?:.*\r\n)*proxy-status: farthing; error=http_request_error\r\n(?:.*\r\n)*\r\nfarthing proxy: /,
      )
  })

  test('stream, and so do their answers', async () => {
    const to = await listening(
      createServer((asked, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        asked.on('data', (piece) => response.write(piece)).on('end', () => response.end())
      }),
    )
    const { url } = await startProxy(`http://127.0.0.1:${to}`)
    for (const path of ['/other', '/events']) {
      const answer = await new Promise<IncomingMessage>((resolve) => {
        const sent = request(`${url}${path}`, { method: 'POST' }, resolve)
        sent.write('first')
        onTestFinished(() => void sent.destroy())
      })
      const { value } = await answer[Symbol.asyncIterator]().next()
      expect(String(value)).toBe('first')
    }
  })

  test('100 is said before a body is sent', async () => {
    const { port: to } = await startService()
    const { port } = await startProxy(`http://127.0.0.1:${to}`)
    const head = 'POST /pay HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n'
    expect(await exchange(port, head)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  })

  test('that fail end their connection, so that a client which does not read the answer can exit', async () => {
    const { port: to } = await startService()
    const { port } = await startProxy(`http://127.0.0.1:${to}`, { plan: fault('error_before') })
    const { status, headers } = await send(port, '/pay', { method: 'POST', headers: { connection: 'keep-alive' } })
    expect([status, headers.connection, headers['retry-after']]).toEqual([503, 'close', '0'])
    const own = await send(port, '/../a', { headers: { connection: 'keep-alive' } })
    expect([own.status, own.headers.connection]).toEqual([403, 'close'])
    expect((await send(port, '/a', { headers: { connection: 'keep-alive' } })).headers.connection).toBe('keep-alive')
  })

  test('a connection serves several', async () => {
    const { port: to, asked } = await startService()
    const { port } = await startProxy(`http://127.0.0.1:${to}`)
    const one = 'POST /pay HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}'
    const answers = await exchange(port, one + one)
    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
    expect(asked).toHaveLength(2)
  })

  test('a long one is streamed, and refused while it is sent', async () => {
    const refused = 'HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno'
    const to = await startRaw((socket) => void socket.end(refused))
    for (const path of ['/pay', '/other']) {
      const { port } = await startProxy(`http://127.0.0.1:${to}`)
      const answer = await send(port, path, { method: 'POST', body: Buffer.alloc(30_000_000) })
      expect([answer.status, String(answer.body)]).toEqual([413, 'no'])
    }
  })

  test('one whose client leaves is never whole', async () => {
    const { port: to, asked } = await startService()
    const { port, record } = await startProxy(`http://127.0.0.1:${to}`)
    for (const path of ['/pay', '/other'])
      await exchange(port, `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"amount"`, 100)
    expect((await record()).calls).toMatchObject([{ status: null }, { status: null }])
    expect(asked).toEqual([])
  })
})
