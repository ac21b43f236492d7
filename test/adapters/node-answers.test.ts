import { afterEach, expect, test, vi } from 'vitest'
import { type Handler, type Served, serve } from '../../adapters/node.js'
import { AnswerDropped, type FetchSource } from '../../src/core.js'

let served: Served | undefined
afterEach(async () => {
  await served?.close()
  vi.restoreAllMocks()
})

const start = async (handler: Handler): Promise<string> => {
  served = await serve(handler, { port: 0 })
  return served.url
}

test('a handler that fails is answered for, or its connection closed if it dropped the answer', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  let failure: Error = new Error('on purpose')
  const url = await start({ fetch: () => Promise.reject(failure) })
  const response = await fetch(url)
  expect([response.status, response.headers.get('content-type'), await response.json()]).toEqual([
    ...[500, 'application/json', { error: 'The service failed.', status: 500, code: 'internal_error' }],
  ])
  expect(logged).toHaveBeenCalledTimes(1)
  failure = new AnswerDropped('fault')
  await expect(fetch(url)).rejects.toThrow()
  expect(logged).toHaveBeenCalledTimes(1)
})

/** What a service reads of a body of at most 5 bytes: at once, and in pieces. */
async function bodiesOf(source: FetchSource, inPieces: boolean) {
  if (!inPieces) {
    const bytes = source.body ? await source.body(5) : Buffer.from('none')
    return bytes ? Buffer.from(bytes).toString() : 'too large'
  }
  const pieces: Uint8Array[] = []
  for await (const piece of source.chunks?.() ?? []) pieces.push(piece)
  return source.chunks ? Buffer.concat(pieces).toString() : 'none'
}

const streamOf = (text: string) => new Blob([text]).stream()

test.each<[method: string, body: BodyInit | undefined, whole: string, pieces: string]>([
  ['GET', undefined, 'none', 'none'],
  ['POST', undefined, '', 'none'],
  ['POST', '', '', 'none'],
  ['POST', '12345', '12345', '12345'],
  ['POST', '123456', 'too large', '123456'],
  ['POST', streamOf('12345'), '12345', '12345'],
  ['POST', streamOf('123456'), 'too large', '123456'],
])('a service gets the body of %s, %s: %s', async (method, body, whole, pieces) => {
  let inPieces = false
  const url = await start({
    respond: async (_, source) => Response.json([await bodiesOf(source, inPieces)]),
  })
  const send = (content: BodyInit | undefined) => fetch(url, { method, body: content, duplex: 'half' } as RequestInit)
  const [first, second] = body instanceof ReadableStream ? body.tee() : [body, body]
  expect(await (await send(first)).json()).toEqual([whole])
  inPieces = true
  expect(await (await send(second)).json()).toEqual([pieces])
})

test.each<[body: BodyInit | null, init: { status?: number }, status: number, length: string | null]>([
  ['é', {}, 200, '2'],
  ['', { status: 404 }, 404, '0'],
  [new Uint8Array([104, 105]), { status: 201 }, 201, '2'],
  [null, { status: 204 }, 204, null],
  [streamOf('abc'), {}, 200, null],
])('an answer %s is sent, with its length if that is known', async (body, init, status, length) => {
  const expected = await new Response(body instanceof ReadableStream ? 'abc' : body, init).text()
  const url = await start({
    respond: async (_, { Response: Sized = Response }) => new Sized(body, { ...init, headers: { 'x-own': '1' } }),
  })
  const answer = await fetch(url)
  expect([answer.status, answer.headers.get('content-length'), answer.headers.get('x-own')]).toEqual([
    status,
    length,
    '1',
  ])
  expect(await answer.text()).toBe(expected)
})
