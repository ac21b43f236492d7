import { EventEmitter } from 'node:events'
import { readFile } from 'node:fs/promises'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LoadShedding } from '../../adapters/node/arrivals.js'
import { Pipelines } from '../../adapters/node/closing.js'
import { nodeFonts } from '../../adapters/node/fonts.js'
import { NodeAnswer, NodeHeaders, requestOf } from '../../adapters/node/request.js'
import { addressOf, checkHost } from '../../adapters/node/target.js'
import { UnreadAnswers } from '../../adapters/node/unread-answers.js'
import { howMuch } from '../support/how-much.js'

/** The parts of the Node server, one by one, without a server. */

/** A connection. Node resumes it after each answer. */
class FakeSocket extends EventEmitter {
  isHalted = false
  destroyed = false

  constructor(readonly remoteAddress?: string) {
    super()
  }

  pause(): this {
    this.isHalted = true
    return this
  }

  resume(): this {
    this.isHalted = false
    this.emit('resume')
    return this
  }

  destroy(): this {
    if (this.destroyed) return this
    this.destroyed = true
    this.emit('close')
    return this
  }

  get socket(): Socket {
    return this as unknown as Socket // The parts use no more of it.
  }
}

describe('the address of a request', () => {
  const asked = (url: string, host?: string, localAddress = '127.0.0.1') =>
    ({
      url,
      headers: { ...(host !== undefined && { host }) },
      socket: { localAddress, localPort: 80 },
    }) as IncomingMessage
  const outcomeOf = (act: () => unknown) => {
    try {
      return act()
    } catch (error) {
      return (error as { body?: { code: string } }).body?.code
    }
  }

  test('is spelled as browsers spell it, whatever its target is', () => {
    const pieces = fc.array(fc.constantFrom('/', '.', '..', '%2e', '%2E', '\\', '#', '?', 'a', '%20', ':', '@'))
    fc.assert(
      fc.property(pieces, (list) => {
        const target = `/${list.join('')}`
        expect(addressOf(asked(target, 'h.test'))).toBe(new URL(`http://h.test${target}`).href)
      }),
      { numRuns: howMuch(300, 3000) },
    )
  })

  test.each([
    ['http://a.test/x?y', 'http://a.test/x?y'],
    ['HTTP://A.test', 'http://a.test/'],
    ...[
      'https://a.test/',
      'http:/a.test/',
      'http:a',
      'http://u@a.test/',
      'http://:p@a.test/',
      'a.test:80',
      '*',
      '',
    ].map((bad) => [bad, 'target_malformed']),
    ...['http://', 'ftp://a.test/', 'xhttp://a.test/'].map((bad) => [bad, 'target_malformed']),
  ])('of the target %s is %s', (target, address) => {
    expect(outcomeOf(() => addressOf(asked(target, 'h.test')))).toBe(address)
  })

  test('without a Host is that of the connection', () => {
    const places = [asked('/a'), asked('/a', ''), asked('/a', '', '::1'), asked('/a', 'h:1')]
    expect(places.map(addressOf)).toEqual(
      ['127.0.0.1:80', '127.0.0.1:80', '[::1]:80', 'h:1'].map((host) => `http://${host}/a`),
    )
  })

  const hosts = [
    '',
    'a.test',
    'a.test:80',
    '[::1]',
    '[::1]:8080',
    'LOCALHOST',
    'a_b',
    '1.2.3.4',
    'b-c.d',
    'x'.repeat(261),
  ]
  const none = [
    'a, b',
    'a/b',
    'a:b',
    'a:',
    'a:123456',
    'a:99999',
    ':80',
    '[::1',
    '::1',
    '[g]',
    '[:::]',
    'u@a',
    'a b',
    'a?b',
    'a#',
    '/',
    'x'.repeat(262),
  ]
  test('has one host, with or without a port', () => {
    for (const host of [...hosts, ...hosts.flatMap((each) => [each, each])])
      expect(
        outcomeOf(() => checkHost(asked('/', host))),
        host,
      ).toBeUndefined()
    for (const host of none.flatMap((each) => [each, 'a.test', each]))
      expect(
        outcomeOf(() => checkHost(asked('/', host))),
        host,
      ).toBe(host === 'a.test' ? undefined : 'header_malformed')
    expect(outcomeOf(() => checkHost(asked('/')))).toBeUndefined()
  })
})

test('a connection is not read from 16 requests under way on, and closed at more than 256', () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 40 })), { maxLength: 6 })
  fc.assert(
    fc.property(steps, (steps) => {
      const pipelines = new Pipelines()
      const [socket, other] = [new FakeSocket(), new FakeSocket()]
      const counts: number[] = []
      const wrong: number[] = []
      for (const [enters, times] of steps)
        for (let n = 0; n < times; n++) {
          const before = counts.at(-1) ?? 0
          if (!enters && before === 0) break
          counts.push(enters ? before + 1 : before - 1)
          if (enters && !pipelines.enter(socket.socket)) wrong.push(before)
          if (!enters) pipelines.leave(socket.socket)
          const count = counts.at(-1) ?? 0
          // As Node does after an answer.
          socket.resume()
          if (socket.isHalted !== count >= 16 || pipelines.isBusy(socket.socket) !== count > 0) wrong.push(count)
        }
      expect({ counts, wrong }).toEqual({ counts, wrong: [] })
      expect([other.isHalted, pipelines.isBusy(other.socket)]).toEqual([false, false])
    }),
    { numRuns: howMuch(60, 600) },
  )
  const pipelines = new Pipelines()
  const one = new FakeSocket()
  const entered = Array.from({ length: 257 }, () => pipelines.enter(one.socket))
  expect([entered.indexOf(false), one.destroyed]).toEqual([256, true])
})

test('the surplus keeps its order, forgets ended connections, and reads none that has two requests in it until both left', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('add', 'add', 'take', 'end'), fc.nat(3)), { maxLength: 40 })
  fc.assert(
    fc.property(steps, (steps) => {
      const surplus = new LoadShedding<{ req: { socket: Socket } }>()
      const fakes = Array.from({ length: 4 }, () => new FakeSocket())
      const halted = new Set<number>()
      const held: { at: number; arrival: { req: { socket: Socket } } }[] = []
      const countOf = (place: number) => held.filter(({ at }) => at === place).length
      for (const [step, at] of steps) {
        const fake = fakes[at] ?? new FakeSocket()
        if (step === 'end') fake.destroy()
        if (step === 'add' && !fake.destroyed) {
          const arrival = { req: { socket: fake.socket } }
          surplus.add(arrival)
          held.push({ at, arrival })
          if (countOf(at) === 2) halted.add(at)
        }
        while (held[0] && fakes[held[0].at]?.destroyed) held.shift()
        const { first } = surplus
        expect(first).toBe(held[0]?.arrival)
        if (step === 'take' && first) {
          expect(surplus.take(first)).toBe(first)
          const left = held.shift()?.at ?? 0
          if (countOf(left) === 0) halted.delete(left)
        }
        for (const [place, each] of fakes.entries()) {
          each.resume()
          if (!each.destroyed) expect(each.isHalted).toBe(halted.has(place))
        }
      }
    }),
    { numRuns: howMuch(200, 2000) },
  )
})

const MIB = 1 << 20

type UnreadStep = readonly [step: 'hold' | 'finish' | 'close', connection: number, bytes: number]

/** Compares what a plain model says after each step. Returns how many connections were dropped. */
function checkUnread(connections: readonly { address?: string | undefined; network: string }[], steps: UnreadStep[]) {
  const unread = new UnreadAnswers()
  const fakes = connections.map(({ address }) => new FakeSocket(address))
  const networks = connections.map(({ network }) => network)
  /** What connections hold, the oldest first. */
  let held: { at: number; bytes: number; res: EventEmitter }[] = []
  let order: number[] = []
  let dropped = 0
  const gone = new Set<number>()
  const forget = (place: number) => {
    held = held.filter(({ at }) => at !== place)
    order = order.filter((at) => at !== place)
  }
  const sum = (is: (at: number) => boolean) => held.reduce((all, { at, bytes }) => all + (is(at) ? bytes : 0), 0)
  for (const [step, at, bytes] of steps) {
    const fake = fakes[at] ?? new FakeSocket()
    if (step === 'hold' && !fake.destroyed) {
      const res = Object.assign(new EventEmitter(), { writableLength: bytes })
      held.push({ at, bytes, res })
      if (!order.includes(at)) order.push(at)
      unread.hold(fake.socket, res as never)
      while (sum(() => true) > 128 * MIB) {
        const of = (network: string | undefined) => sum((each) => networks[each] === network)
        const most = networks.reduce((best, each) => (of(each) > of(best) ? each : best))
        const lost = order.find((each) => networks[each] === most) ?? 0
        forget(lost)
        gone.add(lost)
        dropped++
      }
    }
    if (step === 'finish') {
      const ready = held.find((each) => each.at === at)
      held = held.filter((each) => each !== ready)
      if (!held.some((each) => each.at === at)) order = order.filter((each) => each !== at)
      ready?.res.emit('finish')
    }
    if (step === 'close') {
      if (!fake.destroyed) gone.add(at)
      fake.destroy()
      forget(at)
    }
    const lost = fakes.flatMap(({ destroyed }, place) => (destroyed ? [place] : []))
    if (lost.join() !== [...gone].sort().join()) expect({ steps, lost }).toEqual({ steps, lost: [...gone].sort() })
  }
  return { dropped, fakes }
}

test('beyond 128 MiB, the network that leaves most unread loses its oldest connections', () => {
  const connections = [
    ...(['10.0.0.1', '10.0.0.2', '10.0.0.1'] as const).map((address) => ({ address, network: address })),
    { address: '2001:db8:0:1:2::3', network: 'A' },
    { address: '2001:db8:0:1::9', network: 'A' },
    { address: '2001:db8:0:2::9', network: 'B' },
    { address: '2001:db8::1', network: 'C' },
    { address: '::ffff:10.0.0.1', network: 'D' },
    { address: undefined, network: 'E' },
  ]
  const steps = fc.array(
    fc.tuple(
      fc.constantFrom('hold', 'hold', 'hold', 'finish', 'close'),
      fc.nat(8),
      fc.integer({ min: 1, max: 60 * MIB }),
    ),
    { maxLength: 40 },
  )
  let dropped = 0
  fc.assert(
    fc.property(steps, (steps) => {
      dropped += checkUnread(connections, steps).dropped
    }),
    { numRuns: howMuch(200, 2000) },
  )
  expect(dropped).toBeGreaterThan(50)
})

test('what was taken counts no more, and its connection is new when it leaves something again', () => {
  const address = '10.0.0.1'
  const connections = [address, address].map((address) => ({ address, network: address }))
  const acts = [0, 1].flatMap((at): UnreadStep[] => [
    ['hold', at, 60 * MIB],
    ['finish', at, 0],
  ])
  // Every order of six steps, of which the first is the same. Two answers of 60 MiB may wait, a third may not.
  let orders: UnreadStep[][] = [acts.slice(0, 1)]
  for (let length = 1; length < 6; length++) orders = orders.flatMap((order) => acts.map((act) => [...order, act]))
  let dropped = 0
  for (const order of orders) dropped += checkUnread(connections, order).dropped
  expect(dropped).toBeGreaterThan(200)
})

test('a connection that leaves many answers unread has one listener for its end', () => {
  const { fakes } = checkUnread([{ network: '' }], Array<UnreadStep>(50).fill(['hold', 0, 1]))
  expect(fakes.map((fake) => fake.listenerCount('close'))).toEqual([1])
})

test.each(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])(
  'a %s request is read as fetch would send it',
  async (method) => {
    const req = Object.assign(new IncomingMessage(new Socket()), {
      method,
      url: '/a',
      headers: { host: 'h.test', a: '1' },
    })
    req.push('text')
    req.push(null)
    const request = requestOf(req, new ServerResponse(req))
    const hasBody = method !== 'GET' && method !== 'HEAD'
    expect([request.method, request.url, request.headers.get('a')]).toEqual([method, 'http://h.test/a', '1'])
    expect([request.body !== null, await request.text()]).toEqual([hasBody, hasBody ? 'text' : ''])
  },
)

test.each<[body: BodyInit | null, whole: string | Uint8Array | undefined, length: string | undefined]>([
  ['é', 'é', '2'],
  ['', '', '0'],
  [Uint8Array.of(1, 2, 3), Uint8Array.of(1, 2, 3), '3'],
  [null, undefined, undefined],
  [new Blob(['abc']).stream(), undefined, undefined],
])('an answer of %j knows its body and its length if it is complete', async (body, whole, length) => {
  const answer = new NodeAnswer(body, { headers: { a: '1' } })
  expect([answer.status, answer.whole, answer.fields]).toEqual([
    ...[200, whole, { a: '1', ...(length !== undefined && { 'content-length': length }) }],
  ])
  expect(answer.stream !== undefined).toBe(body instanceof ReadableStream)
  answer.stream?.destroy()
})

test('headers are found by any spelling of their names', () => {
  const headers = new NodeHeaders({
    headers: { 'x-one': '1', 'x-empty': '', 'set-cookie': ['a', 'b'] },
  } as unknown as IncomingMessage)
  const names = ['X-One', 'x-one', 'X-EMPTY', 'set-cookie', 'x-none']
  expect(names.map((name) => headers.get(name))).toEqual(['1', '1', '', 'a,b', null])
  expect(names.map((name) => headers.has(name))).toEqual([true, true, true, true, false])
  expect([...headers.keys()]).toEqual(['x-one', 'x-empty', 'set-cookie'])
})

test('fonts are the first files that have the characters, and no others', async () => {
  const folder = new URL('../../node_modules/@fontsource/noto-sans-arabic/', import.meta.url)
  const packages = ['@fontsource/no-such-font', '@fontsource/noto-sans-arabic']
  const parts = Object.entries<string>(JSON.parse(await readFile(new URL('unicode.json', folder), 'utf8')))
  const bounds = parts.flatMap(([, ranges]) => ranges.match(/[\dA-F]+/gi) ?? []).map((hex) => Number.parseInt(hex, 16))
  const has = (ranges: string, code: number) =>
    ranges.split(',').some((range) => {
      const [first = 0, last = first] = (range.match(/[\dA-F]+(?![^-]*\+)/gi) ?? []).map((hex) =>
        Number.parseInt(hex, 16),
      )
      return code >= first && code <= last
    })
  const fonts = nodeFonts({ packages })
  const some = bounds.filter((_, at) => at % howMuch(4, 1) === 0)
  const codes = some.flatMap((bound) => [Math.max(0, bound - 1), bound, bound + 1])
  for (const code of new Set([...codes, 0x10ffff])) {
    const [name] = parts.find(([, ranges]) => has(ranges, code)) ?? []
    const found = await fonts.find([String.fromCodePoint(code)])
    expect(found.length, `${code}`).toBe(name === undefined ? 0 : 1)
    if (name === undefined) continue
    const file = new URL(`files/noto-sans-arabic-${name}-400-normal.woff`, folder)
    expect(Buffer.compare(Buffer.from(found[0] ?? []), await readFile(file)), `${code}`).toBe(0)
  }
  const all = await fonts.find(['a', 'ب', 'ب', 'ت', '\u{10ffff}'])
  expect(all.length).toBe(2)
  expect(await nodeFonts({ packages: [] }).find(['a'])).toEqual([])
})
