import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ArmedEngine } from '../../src/sandbox/faults/engine.js'
import { actions, FaultShape, whyImpossible } from '../../src/sandbox/faults/fault-shape.js'
import type { Fault, FaultAction, FaultyAnswer, FaultyCall, FaultyRequest } from '../../src/sandbox/onion/fault.js'
import { howMuch } from '../support/how-much.js'

/** An engine, in a time that passes at once and is written down. */
function newEngine() {
  const waits: number[] = []
  const set = (ms: number, ring: () => void) => {
    waits.push(ms)
    queueMicrotask(ring)
    return () => {}
  }
  const options = { now: () => 0, instance: 'abc', counts: undefined, loadOperations: async () => [], onChange() {} }
  const engine = new ArmedEngine(options, { set })
  const arm = async (fault: Partial<Fault>) =>
    (await engine.prepare([{ match: {}, at: 'before', do: { drop: true }, ...fault }])).arm()
  return { engine, waits, arm }
}

function requestOf(more: Partial<FaultyRequest> = {}) {
  const notes: unknown[] = []
  const request: FaultyRequest = {
    ...{ operationId: 'pay', method: 'POST', path: '/v4/pay', header: null, takesBody: true },
    ...{ paysFor: undefined, fields: {}, service: undefined },
    principal: async () => null,
    run: async () => ({ status: 200, headers: { kept: 'yes' }, body: 'body' }),
    note: (id, { isLost }) => void notes.push([id, isLost]),
    ...more,
  }
  return { request, notes }
}

const chunksOf = (chunks: readonly string[], onCancel = () => {}) => {
  const left = [...chunks]
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift()
      if (next === undefined) controller.close()
      else controller.enqueue(new TextEncoder().encode(next))
    },
    cancel: onCancel,
  })
}

/** The pieces that arrive, how often was waited before each, and how it ended. */
async function arrived({ body }: FaultyAnswer, waits: readonly number[]) {
  const pieces: (readonly [text: string, waited: number])[] = []
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read())
      pieces.push([new TextDecoder().decode(read.value), waits.length])
    return { pieces, text: pieces.map(([text]) => text).join(''), isDropped: false }
  } catch (error) {
    expect((error as Error).name).toBe('AnswerDropped')
    return { pieces, text: pieces.map(([text]) => text).join(''), isDropped: true }
  }
}

const someChunks = fc.array(fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', 'b', 'c') }), {
  minLength: 1,
  maxLength: 4,
})

test('a body that is truncated, dripped, paused or dropped arrives as far as its fault says', async () => {
  await fc.assert(
    fc.asyncProperty(
      someChunks,
      fc.boolean(),
      fc.oneof(
        fc.integer({ min: 1, max: 30 }).map((truncate) => ({ truncate })),
        fc.integer({ min: 1, max: 60 }).map((drip) => ({ drip })),
        fc.constantFrom({ delay_ms: 7 }, { drop: true as const }),
      ),
      async (chunks, isStream, action: FaultAction) => {
        const { engine, waits, arm } = newEngine()
        const [{ id } = { id: '' }] = await arm({ at: 'mid_body', do: action })
        const whole = chunks.join('')
        const body = isStream ? chunksOf(chunks) : whole
        const { request, notes } = requestOf({ run: async () => ({ status: 200, headers: { kept: 'yes' }, body }) })
        const answer = await engine.perform(request)
        const { truncate, drip, delay_ms } = action
        const isWhole = truncate !== undefined && !isStream && truncate >= whole.length
        expect(notes).toEqual(isWhole ? [] : [[id, false]])
        if (isWhole) {
          expect(answer.body).toBe(whole)
          return
        }
        const length = isStream ? {} : { 'content-length': String(whole.length) }
        expect([answer.status, answer.headers]).toEqual([200, { kept: 'yes', ...length }])
        const { pieces, text, isDropped } = await arrived(answer, waits)
        // The half of a stream is behind its first byte: its length is not known.
        const half = isStream ? 1 : Math.floor(whole.length / 2)
        const kept = truncate ?? (action.drop ? half : whole.length)
        expect([text, isDropped]).toEqual([whole.slice(0, kept), kept < whole.length])
        expect(pieces.every(([piece]) => piece !== '')).toBe(true)
        if (drip !== undefined) {
          const size = Math.max(1, Math.floor(drip / 10))
          expect(waits).toEqual(pieces.map(([piece]) => (piece.length * 1000) / drip))
          expect(pieces.every(([piece, waited], at) => piece.length <= size && waited === at + 1)).toBe(true)
          const sizes = (isStream ? chunks : [whole]).map((chunk) => Math.ceil(chunk.length / size))
          expect(pieces).toHaveLength(sizes.reduce((sum, count) => sum + count))
        } else if (delay_ms !== undefined) {
          expect(waits).toEqual(half < whole.length ? [delay_ms] : [])
          const before = pieces.filter(([, waited]) => waited === 0).map(([piece]) => piece)
          expect(before.join('')).toBe(whole.slice(0, half))
        } else expect(waits).toEqual([])
      },
    ),
    { numRuns: howMuch(150, 5000) },
  )
})

test('who stops reading a changed body ends what it comes from', async () => {
  const { engine, arm } = newEngine()
  await arm({ at: 'mid_body', do: { drip: 100 } })
  let cancelled = 0
  const body = () => chunksOf(Array(9).fill('x'), () => void cancelled++)
  const { request } = requestOf({ run: async () => ({ status: 200, headers: {}, body: body() }) })
  const reader = ((await engine.perform(request)).body as ReadableStream).getReader()
  await reader.read()
  await reader.cancel()
  expect(cancelled).toBe(1)
  engine.clear()
  await arm({ at: 'after_commit', do: { status: 503 } })
  expect((await engine.perform(request)).status).toBe(503)
  expect(cancelled).toBe(2)
})

test.each<[string, FaultyAnswer['body'], boolean]>([
  ['no body', null, true],
  ['an empty text', '', true],
  ['no bytes', new Uint8Array(), true],
  ['a body that the caller does not take', 'body', false],
])('%s is left alone', async (_, body, takesBody) => {
  const { engine, arm } = newEngine()
  await arm({ at: 'mid_body', do: { drop: true } })
  const { request, notes } = requestOf({ takesBody, run: async () => ({ status: 200, headers: {}, body }) })
  expect([await engine.perform(request), notes]).toEqual([{ status: 200, headers: {}, body }, []])
})

const OPEN = { 'cache-control': 'private, no-store' }
const JSON_TYPE = { 'content-type': 'application/json' }
const told = (status: number) =>
  JSON.stringify({ error: 'The fault "fault_1" of this sandbox answered.', status, fault: 'fault_1' })

test.each<[FaultAction, object, string | null]>([
  [{ status: 503 }, JSON_TYPE, told(503)],
  [{ status: 200, body: { a: 1 } }, JSON_TYPE, '{"a":1}'],
  [{ status: 402, body: null }, JSON_TYPE, 'null'],
  [{ status: 500, body: 'text' }, { 'content-type': 'text/plain; charset=utf-8' }, 'text'],
  [{ status: 429, retry_after: 0 }, { ...JSON_TYPE, 'retry-after': '0' }, told(429)],
  ...[204, 205, 304].map((status) => [{ status, body: 'text', retry_after: 3 }, { 'retry-after': '3' }, null] as never),
])('the fault %j answers a request, and a call of an upstream, in its place', async (action, headers, body) => {
  const expected = { status: action.status, headers: { ...OPEN, ...headers }, body }
  for (const at of ['before', 'after_commit'] as const) {
    const { engine, arm } = newEngine()
    await arm({ at, do: action })
    let runs = 0
    const run = async () => {
      runs++
      return { status: 200, headers: {}, body: 'own' }
    }
    const { request, notes } = requestOf({ run })
    expect(await engine.perform(request)).toEqual(expected)
    expect([runs, notes]).toEqual(at === 'before' ? [0, [['fault_1', false]]] : [1, [['fault_1', true]]])
    engine.clear()
    await arm({ match: { port: 'upstream' }, at, do: action })
    const answered: FaultyAnswer[] = []
    const call = {
      port: 'upstream',
      run,
      answer(each) {
        answered.push(each)
        return each
      },
    } satisfies FaultyCall<FaultyAnswer>
    expect(await engine.call(call)).toEqual(expected)
    expect([runs, answered.length]).toEqual(at === 'before' ? [0, 1] : [2, 1])
  }
})

test.each<[FaultAction, runs: number, waits: number[], code: string | undefined]>([
  [{ error: 'EPIPE' }, 1, [], 'EPIPE'],
  [{ drop: true }, 1, [], 'ECONNRESET'],
  [{ delay_ms: 5 }, 1, [5], undefined],
  [{ delay_ms: 0 }, 1, [0], undefined],
  [{ duplicate: true }, 2, [], undefined],
])(
  'the fault %j of a port happens before its call, and behind one that did not fail',
  async (action, times, waited, code) => {
    for (const at of action.duplicate ? (['after_commit'] as const) : (['before', 'after_commit'] as const)) {
      const { engine, waits, arm } = newEngine()
      await arm({ match: { port: 'mail' }, at, do: action })
      let [runs, fails] = [0, true]
      const notes: string[] = []
      const run = async () => {
        runs++
        if (fails) throw new Error('own')
        return runs
      }
      const call = () => engine.call({ port: 'mail', run, note: (id) => void notes.push(id) })
      if (at === 'after_commit') {
        await expect(call()).rejects.toThrow('own')
        expect(await engine.list()).toMatchObject([{ fired: 0 }])
        expect([notes, runs]).toEqual([[], 1])
      }
      ;[runs, fails] = [0, false]
      const calling = call()
      if (code === undefined) expect(await calling).toBe(times)
      else await expect(calling).rejects.toMatchObject({ code, message: `${code}, by the fault "fault_1"` })
      expect([runs, waits, notes]).toEqual([at === 'before' && code ? 0 : times, waited, ['fault_1']])
      expect(await engine.list()).toMatchObject([{ fired: 1 }])
    }
  },
)

test.each([
  ['after_commit; drop', { at: 'after_commit', do: { drop: true } }],
  [' before ;status= 503 ', { at: 'before', do: { status: 503 } }],
  ['mid_body;truncate=10', { at: 'mid_body', do: { truncate: 10 } }],
  ['after_commit; x402=late', { at: 'after_commit', do: { x402: 'late' } }],
  ['', undefined],
  ['before', undefined],
  ['before; drop; drop', undefined],
  ['before; drop=1', undefined],
  ['before; status=a503', undefined],
  ['before; status=503x', undefined],
  ['before; error=EIO', undefined],
  ['never; drop', undefined],
])('the header "%s" is the fault %j', async (header, expected) => {
  const { engine, waits } = newEngine()
  const { request, notes } = requestOf({ header })
  const performing = engine.perform(request)
  if (!expected) {
    await expect(performing).rejects.toMatchObject({
      code: 'header_malformed',
      facts: {
        header: 'X-Sandbox-Fault',
        detail: expect.stringMatching(/^The invalid header is X-Sandbox-Fault: .*[^.]\.$/),
      },
    })
    return
  }
  const { do: action, at } = expected
  if ('x402' in action) expect(await performing).toMatchObject({ status: 200 })
  else if ('drop' in action) await expect(performing).rejects.toMatchObject({ name: 'AnswerDropped' })
  else expect(await performing).toMatchObject({ status: 'status' in action ? 503 : 200 })
  const isHappening = !('truncate' in action || 'x402' in action)
  expect([notes, waits]).toEqual([isHappening ? [['header', at === 'after_commit']] : [], []])
})

/** Where each action works, by the table of the guide. */
const WORKS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  request: {
    before: 'status delay_ms drop raise_price',
    after_commit: 'status delay_ms drop duplicate x402',
    mid_body: 'truncate drip delay_ms drop',
  },
  storage: { before: 'error delay_ms', after_commit: 'error delay_ms', mid_body: '' },
  ...Object.fromEntries(
    ['mail', 'push', 'card', 'upstream', 'webhook'].map((port) => {
      const own = `error drop delay_ms${/^(upstream|webhook)$/.test(port) ? ' status' : ''}`
      return [port, { before: own, after_commit: `${own} duplicate`, mid_body: '' }]
    }),
  ),
}
const VALUES = {
  status: 503,
  delay_ms: 1,
  drop: true,
  duplicate: true,
  truncate: 1,
  drip: 1,
  raise_price: 1,
  x402: 'late',
  error: 'EIO',
}

test.each(Object.entries(WORKS))('a fault of %s is refused where it cannot happen, with what can', (port, points) => {
  for (const [at, works] of Object.entries(points))
    for (const name of actions) {
      const of = (action: string, point: string) =>
        ({
          match: port === 'request' ? {} : { port },
          at: point,
          do: { [action]: VALUES[action as 'status'] },
        }) as Fault
      const wrong = whyImpossible(of(name, at))
      const label = `${port} ${at} ${name}`
      expect(FaultShape.safeParse(of(name, at)).success, label).toBe(wrong === undefined)
      if (works.split(' ').includes(name)) {
        expect(wrong, label).toBeUndefined()
        continue
      }
      const what = port === 'request' ? 'a request' : `the port "${port}"`
      const others = Object.keys(points).filter((point) => points[point]?.split(' ').includes(name))
      const possible = actions.filter((each) => Object.values(points).some((all) => all.split(' ').includes(each)))
      const or = (names: readonly string[]) => names.join(', ').replace(/, ([^,]*)$/, ' or $1')
      expect(wrong, label).toEqual(
        others.length > 0
          ? { path: ['at'], must: `${or(others.map((point) => `"${point}"`))} for "${name}" of ${what}` }
          : {
              path: ['do', name],
              must: `replaced: ${what} takes ${or(possible)}${name === 'error' ? ', and "error" needs "match.port"' : ''}`,
            },
      )
    }
})

test.each<[Partial<Fault>, string[] | undefined, RegExp?]>([
  [{ do: {} }, ['do'], /^exactly one of status, .* and error$/],
  [{ do: { drop: true, delay_ms: 1 } }, ['do']],
  [{ do: { drop: true, body: 'x' } }, ['do', 'body'], /^sent with "status"$/],
  [{ do: { drop: true, retry_after: 1 } }, ['do', 'retry_after']],
  [{ do: { status: 500, body: 'x', retry_after: 1 } }, undefined],
  [{ seed: 1 }, ['seed'], /^sent with "probability"$/],
  [{ seed: 1, probability: 0 }, undefined],
  [{ until: 'soon' }, ['until'], /^Unix seconds or an ISO 8601 date-time$/],
  [{ until: 1 }, undefined],
  [{ until: '2031-05-01T12:00:00Z' }, undefined],
  [{ match: { operation_id: 'a', principal: 'user:1', method: 'GET', path: '/' } }, undefined],
  ...(['mail', 'push', 'card'] as const).flatMap((port) =>
    (['operation_id', 'principal', 'method', 'path'] as const).map(
      (name) => [{ match: { port, [name]: 'x' } }, ['match', name], /is matched alone$/] as never,
    ),
  ),
  ...(['upstream', 'webhook'] as const).flatMap((port) => [
    [{ match: { port, method: 'GET', path: '/' } }, undefined] as never,
    ...(['operation_id', 'principal'] as const).map(
      (name) =>
        [
          { match: { port, [name]: 'x' } },
          ['match', name],
          /with only "method" and "path" of the called URL$/,
        ] as never,
    ),
  ]),
  [
    { match: { port: 'storage' }, do: { error: 'EPIPE' } },
    ['do', 'error'],
    /^one of ENOSPC, EDQUOT, EIO and EROFS for the port "storage"$/,
  ],
  [{ match: { port: 'mail' }, do: { error: 'EPIPE' } }, undefined],
])('a fault with %j is refused at %j', (more, path, must = /./) => {
  const wrong = whyImpossible({ match: {}, at: 'before', do: { drop: true }, ...more })
  expect(wrong).toEqual(path && { path, must: expect.stringMatching(must) })
})
