import { describe, expect, test } from 'vitest'
import type { Alarm, Upstream, UpstreamRequest } from '../../src/base/ports.js'
import { readWhole } from '../../src/jobs/upstream/call.js'
import { byHand, call, reasonOf, textOf } from '../support/scenes/upstream-call.js'

describe('A call', () => {
  const given = (response: Response): Upstream => ({ fetch: async () => response })

  test('refuses headers with a line break', async () => {
    const upstream = { fetch: () => expect.unreachable() }
    await expect(call('http://127.0.0.1/', { upstream, headers: { 'x-a': 'b\r\nc: d' } })).rejects.toMatchObject({
      code: 'upstream_refused',
    })
  })

  test('passes the policy for addresses to the port', async () => {
    let asked: UpstreamRequest | undefined
    const upstream: Upstream = {
      fetch: async (request) => {
        asked = request
        return new Response('')
      },
    }
    await readWhole(await call('http://127.0.0.1/', { upstream }))
    expect([asked?.mayConnect('127.0.0.1'), asked?.mayConnect('169.254.169.254')]).toEqual([true, false])
  })

  test.each([
    ['as browsers show it', { status: 0, type: 'opaqueredirect', redirected: false }],
    ['that a port followed', { status: 200, type: 'basic', redirected: true }],
  ])('fails for a redirect %s, and cancels its body', async (_, shown) => {
    const cancelled: unknown[] = []
    const body = new ReadableStream({ cancel: (why) => void cancelled.push(why) })
    const response = { ...shown, body, headers: new Headers() } as unknown as Response
    expect(await reasonOf(call('http://127.0.0.1/', { upstream: given(response) }))).toBe('redirect')
    expect(cancelled).toHaveLength(1)
  })

  test('fails for an error response of a browser', async () => {
    expect(await reasonOf(call('http://127.0.0.1/', { upstream: given(Response.error()) }))).toBe('unreachable')
  })

  test('times out although the port ignores its signal, and cancels a late answer', async () => {
    const { alarm, ring, set } = byHand()
    const cancelled: unknown[] = []
    let arrive: (response: Response) => void = () => {}
    const upstream = { fetch: () => new Promise<Response>((resolve) => (arrive = resolve)) }
    const coming = call('http://127.0.0.1/', { upstream, alarm })
    expect(set).toEqual([10_000])
    ring()
    expect(await reasonOf(coming)).toBe('timeout')
    arrive(new Response(new ReadableStream({ cancel: (why) => void cancelled.push(why) })))
    await expect.poll(() => cancelled).toHaveLength(1)
  })

  test('cancels its alarm after its body is read, cancelled or broken', async () => {
    let set = 0
    const alarm: Alarm = {
      set: () => {
        set++
        let off = false
        return () => {
          if (!off) set--
          off = true
        }
      },
    }
    const ask = (body: BodyInit | null) => call('http://127.0.0.1/', { upstream: given(new Response(body)), alarm })
    const answer = await ask('whole')
    expect(set).toBe(1)
    await readWhole(answer)
    expect(set).toBe(0)
    await readWhole(await ask(null))
    expect(set).toBe(0)
    await (await ask('left')).body.cancel()
    expect(set).toBe(0)
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    expect(await reasonOf(ask(broken).then(readWhole))).toBe('broken_off')
    expect(set).toBe(0)
    const failing = { fetch: () => Promise.reject(new Error('no')) }
    expect(await reasonOf(call('http://127.0.0.1/', { upstream: failing, alarm }))).toBe('unreachable')
    expect(set).toBe(0)
  })

  test('fails if the port throws at once', async () => {
    const upstream: Upstream = {
      fetch() {
        throw new TypeError('no network here')
      },
    }
    expect(await reasonOf(call('http://127.0.0.1/', { upstream }))).toBe('unreachable')
  })

  test('reads only as much as its reader wants', async () => {
    let made = 0
    const source = new ReadableStream<Uint8Array>(
      { pull: (controller) => controller.enqueue(new Uint8Array([++made])) },
      { highWaterMark: 0 },
    )
    const { body } = await call('http://127.0.0.1/', { upstream: given(new Response(source)) })
    const reader = body.getReader()
    await reader.read()
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(made).toBe(1)
    await reader.cancel()
  })

  test.each([
    [{ 'content-length': '5' }, 'basic', 5],
    [{ 'content-length': '5', 'content-encoding': 'gzip' }, 'basic', null],
    // A browser says not whether this was encoded.
    [{ 'content-length': '3' }, 'cors', null],
    [{ 'content-length': '-5' }, 'basic', null],
    [{ 'content-length': '5, 5' }, 'basic', null],
    [{}, 'basic', null],
  ])('says of %j of a %s answer that its length is %j', async (headers, type, length) => {
    const { body } = new Response('whole')
    const response = {
      status: 200,
      type,
      redirected: false,
      body,
      headers: new Headers(headers),
    } as unknown as Response
    const answer = await call('http://127.0.0.1/', { upstream: given(response) })
    expect([answer.declaredLength, await textOf(answer)]).toEqual([length, 'whole'])
  })

  test('throws if the port returns fewer or more bytes than declared', async () => {
    for (const body of ['half', 'wholes']) {
      const response = new Response(body, { headers: { 'content-length': '5' } })
      expect(await reasonOf(call('http://127.0.0.1/', { upstream: given(response) }).then(readWhole))).toBe(
        'broken_off',
      )
    }
  })

  test.each([
    ['application/json', true],
    ['text/html; charset="utf-8"', true],
    ['text/plain;charset=utf-8;format=flowed;', true],
    ['image/svg+xml', true],
    ['text/html, application/json', false],
    ['text/plain; a="b, c', false],
    ['text', false],
    ['text/', false],
    ['', false],
    ['text/html; é=1', false],
    [`text/html; a=${'b'.repeat(300)}`, false],
  ])('relays the media type %j: %s', async (type, passes) => {
    const response = new Response('', { headers: { 'content-type': type } })
    const answer = await call('http://127.0.0.1/', { upstream: given(response) })
    expect(answer.contentType).toBe(passes ? type : null)
    await answer.body.cancel()
  })
})
