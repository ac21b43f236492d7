import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { SMTPServer } from 'smtp-server'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type NodeUpstreamOptions, nodeUpstream } from '../../adapters/node.js'
import { systemAlarm, type UpstreamRequest } from '../../src/base/ports.js'
import { ServiceEnding } from '../../src/http/ending.js'
import { callUpstream, readWhole, UpstreamFailure } from '../../src/jobs/upstream/call.js'
import { checkUpstreamUrl, type UpstreamPolicy } from '../../src/jobs/upstream/policy.js'

type Lookup = NonNullable<NodeUpstreamOptions['lookup']>

const serious: UpstreamPolicy = { allowUpstream: undefined, sandbox: undefined }
const allowing: UpstreamPolicy = { allowUpstream: () => true, sandbox: undefined }
const limits = { upstreamMs: 10_000, upstreamBytes: 100_000 }

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  await Promise.all(closing.splice(0).map((close) => close()))
})

/** A server that has each connection made to it, and acts on what is first said there. */
async function listening(act: (socket: Socket, said: Buffer) => void = () => {}) {
  const sockets: Socket[] = []
  const server = createTcpServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', (said) => act(socket, said))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

async function serving(answer: RequestListener): Promise<number> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

/** Gives what it is told the first time, then the next, and the last from there on. */
function names(...answers: string[][]): Lookup & { asked: string[] } {
  const asked: string[] = []
  const lookup = async (name: string) => {
    const answer = answers[Math.min(asked.push(name), answers.length) - 1] as string[]
    return answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  return Object.assign(lookup, { asked })
}

const ending = new ServiceEnding(systemAlarm)

const call = (url: string, lookup?: Lookup, policy = allowing) =>
  callUpstream(
    { upstream: nodeUpstream(lookup && { lookup }), alarm: systemAlarm, ending, limits, ...policy },
    { url: checkUpstreamUrl(url, policy), method: 'GET', headers: {}, body: null, hops: 0 },
  )
const textOf = async (answer: Awaited<ReturnType<typeof call>>) => new TextDecoder().decode(await readWhole(answer))
const failureOf = async (work: Promise<unknown>): Promise<UpstreamFailure> => {
  const failure = await work.catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(UpstreamFailure)
  return failure as UpstreamFailure
}
/** What the port itself is asked. */
const asking = (url: string, changes: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  ...{ url, shownUrl: url, method: 'GET', headers: {}, body: null },
  ...{ signal: new AbortController().signal, mayConnect: () => true },
  ...changes,
})
const refusal = { reason: 'unreachable', cause: { message: 'the address of the upstream service is refused' } }

describe('A name', () => {
  test.each([
    ['to metadata', ['169.254.169.254'], allowing],
    ['to metadata, mapped', ['::ffff:169.254.169.254'], allowing],
    ['to metadata over IPv6', ['fd00:ec2::254'], allowing],
    ['link-locally', ['fe80::1%lo'], allowing],
    ['to the unspecified address', ['0.0.0.0'], allowing],
    ['to this machine', ['127.0.0.1'], serious],
    ['to this machine over IPv6', ['::1'], serious],
    ['to a private network', ['10.0.0.1'], serious],
    ['to a private network after a public one', ['8.8.8.8', '192.168.0.1'], serious],
    ['to metadata after this machine', ['127.0.0.1', '169.254.169.254'], allowing],
    ['nowhere', [], allowing],
  ])('that resolves %s gets no connection', async (_, addresses, policy) => {
    const { port, sockets } = await listening()
    const lookup = names(addresses)
    expect(await failureOf(call(`https://shop.example.test:${port}/`, lookup, policy))).toMatchObject(refusal)
    expect([lookup.asked, sockets]).toEqual([['shop.example.test'], []])
  })

  test('that resolves to a different address after the check gains nothing', async () => {
    const port = await serving((_, res) => res.end('the one that was judged'))
    const lookup = names(['127.0.0.1'], ['169.254.169.254'])
    expect(await textOf(await call(`http://shop.example.test:${port}/`, lookup))).toBe('the one that was judged')
    expect(lookup.asked).toEqual(['shop.example.test'])
    // The next call looks again, and so sees it.
    expect(await failureOf(call(`http://shop.example.test:${port}/`, lookup))).toMatchObject(refusal)
    expect(lookup.asked).toHaveLength(2)
  })

  test('is tried at its next address if the first does not answer', async () => {
    const port = await serving((_, res) => res.end('the second'))
    const lookup = names(['::1', '127.0.0.1'])
    expect(await textOf(await call(`http://shop.example.test:${port}/`, lookup))).toBe('the second')
  })

  test("is looked up by the system's resolver by default", async () => {
    const port = await serving((req, res) => res.end(req.headers.host))
    expect(await textOf(await call(`http://localhost:${port}/`))).toBe(`localhost:${port}`)
  })

  test('that does not exist is unreachable', async () => {
    const lookup = () => Promise.reject(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }))
    const failure = await failureOf(call('http://shop.example.test/', lookup))
    expect(failure).toMatchObject({ reason: 'unreachable', cause: { code: 'ENOTFOUND' } })
  })

  test('is sent to the server, as Host and in TLS', async () => {
    const port = await serving((req, res) => res.end(req.headers.host))
    const lookup = names(['127.0.0.1'])
    expect(await textOf(await call(`http://shop.example.test:${port}/`, lookup))).toBe(`shop.example.test:${port}`)
    const hellos: string[] = []
    const tls = await listening((socket, hello) => {
      hellos.push(hello.toString('latin1'))
      socket.destroy()
    })
    expect((await failureOf(call(`https://shop.example.test.:${tls.port}/`, lookup))).reason).toBe('unreachable')
    expect(hellos[0]).toContain('shop.example.test')
    expect(hellos[0]).not.toContain('shop.example.test.')
    expect(lookup.asked).toEqual(['shop.example.test', 'shop.example.test.'])
  })
})

test('An address in a URL is checked too, and not looked up', async () => {
  const lookup = names(['127.0.0.1'])
  const { port, sockets } = await listening()
  for (const [host, address] of [
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]', '::1'],
  ] as const) {
    const judged: string[] = []
    const mayConnect = (ip: string) => judged.push(ip) < 1
    const asked = nodeUpstream({ lookup }).fetch(asking(`http://${host}:${port}/`, { mayConnect }))
    await expect(asked).rejects.toThrow('the address of the upstream service is refused')
    expect([judged, sockets]).toEqual([[address], []])
  }
  expect(lookup.asked).toEqual([])
})

test('A call that is aborted during its lookup opens no connection', async () => {
  const { port, sockets } = await listening()
  const ending = new AbortController()
  const lookup = async () => {
    ending.abort(new Error('over'))
    return [{ address: '127.0.0.1', family: 4 }]
  }
  const asked = nodeUpstream({ lookup }).fetch(asking(`http://shop.example.test:${port}/`, { signal: ending.signal }))
  await expect(asked).rejects.toThrow('over')
  expect(sockets).toEqual([])
})

test('A certificate of an unknown authority is refused', async () => {
  // Its own, that it made for itself.
  const server = new SMTPServer({ secure: true, logger: false })
  server.on('error', () => {})
  const listener = server.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  closing.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = listener.address() as AddressInfo
  const failure = await failureOf(call(`https://localhost:${port}/`, names(['127.0.0.1'])))
  expect(failure).toMatchObject({ reason: 'unreachable', cause: { code: expect.stringMatching(/CERT|SIGNED/) } })
})

test.each(['POST', 'DELETE', 'GET'])('%s sends its headers, and its body with the length in bytes', async (method) => {
  const port = await serving(async (req, res) => {
    const { 'x-own': own, 'content-length': length, 'transfer-encoding': coding, host } = req.headers
    res.end(JSON.stringify([req.method, own, length, coding, host, await text(req)]))
  })
  const url = `http://127.0.0.1:${port}/`
  const changes = { method, headers: { 'x-own': '1', host: 'other.example.test' } }
  const seen = async (body: string | null) =>
    (await nodeUpstream().fetch(asking(url, { ...changes, body } as Partial<UpstreamRequest>))).json()
  expect(await seen('é')).toEqual([method, '1', '2', null, `127.0.0.1:${port}`, 'é'])
  expect((await seen(null)).at(-1)).toBe('')
})

test('An answer that switches to a different protocol is refused, and its connection closed', async () => {
  const { port, sockets } = await listening((socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
  })
  const asked = nodeUpstream().fetch(asking(`http://127.0.0.1:${port}/`))
  await expect(asked).rejects.toThrow('the upstream service switched to a different protocol')
  await vi.waitUntil(() => sockets[0]?.destroyed)
})

test('Calls use no proxy and never reuse a connection', async () => {
  const proxy = await listening()
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`)
  vi.stubEnv('NODE_USE_ENV_PROXY', '1')
  const seen: IncomingMessage[] = []
  const port = await serving((req, res) => {
    seen.push(req)
    res.end('direct')
  })
  for (const _ of [1, 2]) expect(await textOf(await call(`http://127.0.0.1:${port}/`))).toBe('direct')
  expect(seen.map(({ headers }) => headers.connection)).toEqual(['close', 'close'])
  expect(new Set(seen.map(({ socket }) => socket)).size).toBe(2)
  expect(proxy.sockets).toEqual([])
})

describe('A body', () => {
  const answering = async (head: string, body: Buffer | string) =>
    `http://127.0.0.1:${
      (
        await listening((socket) => {
          socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n`)
          socket.end(body)
        })
      ).port
    }/`
  const gzip = gzipSync('x'.repeat(1000))

  test('throws if the connection is reset', async () => {
    const { port } = await listening((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nhalf')
      setTimeout(() => socket.resetAndDestroy(), 30)
    })
    const url = `http://127.0.0.1:${port}/`
    const reset = { reason: 'broken_off', cause: { code: 'ECONNRESET' } }
    expect(await failureOf(call(url).then(readWhole))).toMatchObject(reset)
    // Nor where it is read only after that.
    const answer = await call(url)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await failureOf(readWhole(answer))).toMatchObject(reset)
  })

  test('without a length or chunks ends with its connection', async () => {
    expect(await textOf(await call(await answering('', 'all of it')))).toBe('all of it')
  })

  test.each([
    ['is cut off', 'content-encoding: gzip\r\n', gzip.subarray(0, -10)],
    [
      'is cut off, though of the length that it says',
      'content-encoding: gzip\r\ncontent-length: 5\r\n',
      gzip.subarray(0, 5),
    ],
    ['is not what it says', 'content-encoding: gzip\r\n', 'plain text'],
    ['is not what it says', 'content-encoding: br\r\n', 'plain text'],
    ['is not what it says', 'content-encoding: deflate\r\n', 'plain text'],
    ['is shorter than its chunks say', 'content-encoding: gzip\r\ntransfer-encoding: chunked\r\n', 'fff\r\n'],
  ])('throws if it %s: %s', async (_, head, body) => {
    const answer = await call(await answering(head, body))
    expect((await failureOf(readWhole(answer))).reason).toBe('broken_off')
  })

  test.each(['zstd', 'compress', 'gzip, gzip', 'constructor'])('encoded as %s is refused', async (coding) => {
    const url = await answering(`content-encoding: ${coding}\r\n`, gzipSync(gzip))
    expect((await failureOf(call(url))).reason).toBe('unreachable')
  })

  test.each([
    ['identity', 'plain'],
    ['', 'plain'],
    ['GZIP', gzipSync('plain')],
    ['x-gzip', gzipSync('plain')],
  ])('encoded as %s is decoded', async (coding, body) => {
    expect(await textOf(await call(await answering(`content-encoding: ${coding}\r\n`, body)))).toBe('plain')
  })

  test('that is encoded closes its connection when nobody reads it any more', async () => {
    const { port, sockets } = await listening((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n')
      socket.write(gzip.subarray(0, -8))
    })
    const response = await nodeUpstream().fetch(asking(`http://127.0.0.1:${port}/`))
    const [socket] = sockets as [Socket]
    const closed = once(socket, 'close')
    await response.body?.cancel()
    await closed
    expect(socket.destroyed).toBe(true)
  })

  test('that breaks off before anybody reads it fails only its reader', async () => {
    const unheard = vi.fn()
    process.on('uncaughtException', unheard)
    const answer = await call(await answering('content-encoding: gzip\r\ncontent-length: 99\r\n', 'plain text'))
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await failureOf(readWhole(answer))).reason).toBe('broken_off')
    process.off('uncaughtException', unheard)
    expect(unheard).not.toHaveBeenCalled()
  })
})
