import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { explain, exportFormats, replay, requests } from '../../sandbox/commands/journal.js'
import type { Outside } from '../../sandbox/commands/running-service.js'
import { program } from '../../sandbox/program.js'
import { Refusal } from '../../sandbox/refusal.js'
import { demo } from '../../sandbox/seed/demo.js'
import { problemCodes } from '../../src/base/problem.js'
import { createService, type ServiceOptions } from '../../src/index.js'
import { until } from '../support/scenes/webhooks.js'

const { article, song } = demo.commodities

afterEach(() => {
  process.exitCode = undefined
})

/** A sandbox with a payment, a refused payment and a call of a control, and the commands beside it. */
async function start(options: ServiceOptions = {}, environment: Outside['environment'] = {}) {
  const service = createService({ sandbox: true, seed: demo.seed, ...options })
  onTestFinished(() => service.close())
  const lines: string[] = []
  const outside: Outside = {
    fetch: (async (input: string, init: RequestInit) => service.fetch(input, init)) as typeof fetch,
    environment,
    print: (line) => void lines.push(...line.split('\n')),
    printText: (text) => void lines.push(...text.trimEnd().split('\n')),
  }
  const payer = await service.sandbox.actAs('user:1')
  const pay = async (hash: string, cost: number) => {
    const headers = { ...payer.headers, 'content-type': 'application/json' }
    const answer = await service.fetch(`/v4/payment/${hash}`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ cost }),
    })
    return answer.headers.get('x-request-id') ?? ''
  }
  const paid = await pay(article, 0.25)
  const refused = await pay(song, 0.5)
  await service.fetch('/_sandbox/ledger')
  const never = new AbortController().signal
  return {
    ...{ service, lines, outside, pay, paid, refused },
    requests: (id?: string, flags: Parameters<typeof requests>[1] = {}, signal = never) =>
      requests(id, flags, outside, signal),
  }
}

/** The message of a refusal. */
async function refusalOf(call: Promise<unknown>): Promise<string> {
  const refused = await call.catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(Refusal)
  return String(refused)
}

describe('farthing explain', () => {
  test('says why the last refused request was refused, and what fixes it', async () => {
    const { outside, lines, refused } = await start()
    await explain('last-error', {}, outside)
    expect(lines[0]).toBe(`${refused} POST /v4/payment/${song} → 409 price_changed, by user:1`)
    expect(lines.join('\n')).toMatch(/To fix it, send POST \/v4\/payment\/.* as user:1 with .*0\.99/)
    lines.length = 0
    await explain(refused, { json: true }, outside)
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ entry: { id: refused }, fix: {} }])
  })
})

test.each(problemCodes.map((code) => [code]))(
  'farthing explain %s says what the code means, without a sandbox',
  async (code) => {
    const lines: string[] = []
    const nobody = { fetch: () => Promise.reject(new Error('no sandbox')), environment: {}, printText: () => {} }
    await explain(code, {}, { ...nobody, print: (line) => void lines.push(line) })
    expect(lines[0]).toMatch(new RegExp(`^\\d{3} ${code}: .+`))
    expect(lines.filter((line) => line.startsWith('- ')).length).toBeGreaterThan(1)
  },
)

describe('farthing replay', () => {
  test('sends a request again in a fork, and compares it if asked', async () => {
    const { service, outside, lines, paid } = await start()
    const movements = async () => (await service.sandbox.ledger()).movements
    const before = await movements()
    await replay('last-error', {}, outside)
    expect(lines).toEqual([
      expect.stringContaining('again, as req_'),
      'The repetition got 409 price_changed, on the state before the call.',
      'Both caused the same.',
    ])
    lines.length = 0
    await replay(paid, { diff: true }, outside)
    expect(lines).toContain('The answers are the same.')
    expect(process.exitCode).toBeUndefined()
    lines.length = 0
    await replay(paid, { strict: true, json: true }, outside)
    expect(JSON.parse(lines[0] ?? '').diff).toContainEqual(expect.objectContaining({ path: 'body.id' }))
    expect(process.exitCode).toBe(1)
    expect(await movements()).toBe(before)
    await replay(paid, { in: 'place' }, outside)
    expect(await movements()).toBe(before + 1)
  })
})

describe('farthing requests', () => {
  test('prints the last requests, oldest first, and those that match', async () => {
    const { requests, lines, paid, refused } = await start()
    await requests()
    const timed = /^\d\d:\d\d:\d\d\.\d{3} (.*?)(?:, \d+\.\d ms)$/
    expect(lines.map((line) => timed.exec(line)?.[1])).toEqual([
      `${paid} POST /v4/payment/${article} → 202, by user:1`,
      expect.stringContaining(refused),
      expect.stringMatching(/^req_\w+ GET \/_sandbox\/ledger → 200$/),
    ])
    lines.length = 0
    await requests(undefined, {
      operation: 'createPayment',
      status: '202',
      principal: 'user:1',
      q: article,
      limit: '5',
    })
    await requests(undefined, { limit: '1', json: true, operation: 'createPayment' })
    expect([lines[0]?.split(' ')[1], JSON.parse(lines[1] ?? '').id]).toEqual([paid, refused])
  })

  test('prints one request with what was sent, answered and caused, without secrets', async () => {
    const { requests, lines, paid } = await start()
    await requests(paid)
    expect(lines).toEqual([
      expect.stringContaining(paid),
      'Sent, as data: {"cost":0.25}',
      expect.stringMatching(/^Answered, as data: .*"nonce":"\[redacted\]"/),
      expect.stringMatching(/^Caused: movement \d+, /),
    ])
    lines.length = 0
    await requests('last', { json: true })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ code: 'price_changed' })
  })

  test('writes requests for another tool', async () => {
    const { requests, lines, paid, refused } = await start()
    for (const as of exportFormats) {
      lines.length = 0
      await requests('last', { as })
      expect(lines.join('\n')).toContain(as === 'vitest' ? 'createPayment answers 409 price_changed' : song)
    }
    lines.length = 0
    await requests(undefined, { as: 'vitest', operation: 'createPayment' })
    await requests(undefined, { as: 'curl', from: paid, to: 'last', status: '202' })
    const text = lines.join('\n')
    expect(text).toContain('createPayment and 1 more request answer as they did')
    const [test = '', curl = ''] = text.split('FARTHING_URL=')
    expect([test.includes(refused), curl.includes(paid), curl.includes(refused)]).toEqual([true, true, false])
  })

  test('shows the delivery of a mail as done, because nobody answers it', async () => {
    const { service, requests, lines } = await start()
    await service.fetch('/v4/session/code', {
      method: 'POST',
      body: new URLSearchParams({ email: 'ada@example.test' }),
    })
    await until(async () => {
      lines.length = 0
      await requests(undefined, { all: true })
      return lines.some((line) => line.includes('→ done'))
    })
    expect(lines.filter((line) => line.includes('no answer'))).toEqual([])
  })

  test('leaves out what a caller reads again while it is answered the same, and says how much', async () => {
    const { service, requests, lines, pay } = await start()
    await service.sandbox.requests.clear()
    const { headers } = await service.sandbox.actAs('user:1')
    const poll = (path: string) => service.fetch(path, { headers })
    for (const path of ['/v4/twins', '/v4/dq', '/v4/twins', '/v4/twins']) await poll(path)
    await service.fetch('/v4/dq')
    await pay(article, 0.25)
    for (const path of ['/v4/twins', '/v4/twins', '/v4/dq']) await poll(path)
    const shown = () => lines.splice(0).map((line) => /(?:GET|POST) [^,]*(?:, by \S+)?(?=,)|^\d+ .*/.exec(line)?.[0])
    const payment = `POST /v4/payment/${article} → 202, by user:1`
    await requests()
    expect(shown()).toEqual([
      'GET /v4/twins → 200, by user:1',
      payment,
      'GET /v4/twins → 200, by user:1',
      'GET /v4/dq → 200',
      '5 repeated reads are left out. --all shows them.',
    ])
    await requests(undefined, { all: true })
    expect(shown()).toHaveLength(9)
    await requests(undefined, { limit: '3' })
    expect(shown()).toEqual([
      payment,
      expect.any(String),
      expect.any(String),
      expect.stringMatching(/^1 repeated read is/),
    ])
    await requests(undefined, { json: true })
    expect(lines).toHaveLength(9)
  })

  test('follows new requests until it is stopped', async () => {
    const { requests, lines, pay } = await start()
    const stopped = new AbortController()
    const following = requests(undefined, { follow: true, status: '202' }, stopped.signal)
    // The stream begins behind the newest request.
    await until(async () => {
      await pay(song, 0.5)
      await pay(song, 0.99)
      return lines.length > 1
    })
    stopped.abort()
    await following
    expect(new Set(lines.map((line) => line.replace(/^\S+ req_\w+ /, '').replace(/, [\d.]+ ms$/, '')))).toEqual(
      new Set([`POST /v4/payment/${song} → 202, by user:1`]),
    )
  })
})

describe('a refusal says what to do:', () => {
  test.each([
    ['an id that no request has', 'req_gone_0000001', 'The journal has no entry with this id'],
    ['what is no id', "'; rm -rf ~", 'choose one from farthing requests, or last or last-error'],
    ['a path', '../../v4/dq', 'is no id of a request'],
  ])('%s', async (_, id, says) => {
    const { outside, requests } = await start()
    for (const call of [
      explain(id, {}, outside),
      replay(id, {}, outside),
      requests(id),
      requests(id, { as: 'vitest' }),
    ])
      expect(await refusalOf(call)).toContain(says)
  })

  test('a request that cannot be repeated', async () => {
    const { service, outside, requests } = await start()
    const { headers } = await service.sandbox.actAs('account:1')
    const body = JSON.stringify({ type: 'client.note', data: { secret: 'mine' } })
    await service.fetch('/v4/events', { method: 'POST', headers, body })
    for (const call of [replay('last', {}, outside), requests('last', { as: 'vitest' })])
      expect(await refusalOf(call)).toContain('`request.body.secret`')
  })

  test('a journal without such requests', async () => {
    const { service, outside } = await start()
    await service.sandbox.requests.clear()
    expect(await refusalOf(explain('last-error', {}, outside))).toContain('has no refused request')
    expect(await refusalOf(replay('last', {}, outside))).toContain('has no request yet')
    expect(await refusalOf(requests(undefined, { as: 'har' }, outside, new AbortController().signal))).toContain(
      'has no request that matches',
    )
  })

  test('controls that are guarded, which a token opens', async () => {
    const { service, outside, refused } = await start({ controlToken: 'open-it' }, { FARTHING_CONTROL_TOKEN: '' })
    const remote = {
      ...outside,
      fetch: (async (input: string, init: RequestInit) =>
        service.respond(new Request(input, init), { peerAddress: '203.0.113.7' })) as typeof fetch,
    }
    expect(await refusalOf(explain(refused, {}, remote))).toContain('--control-token')
    expect(await refusalOf(requests(refused, { as: 'curl' }, remote, new AbortController().signal))).toContain(
      '--control-token',
    )
    await explain(refused, { controlToken: 'open-it' }, remote)
    await requests(
      refused,
      { as: 'curl' },
      { ...remote, environment: { FARTHING_CONTROL_TOKEN: 'open-it' } },
      new AbortController().signal,
    )
  })

  test('a service that is none, or that has no controls', async () => {
    const { outside } = await start()
    const nobody = { ...outside, fetch: () => Promise.reject(new TypeError('fetch failed')) }
    expect(await refusalOf(explain('last', {}, nobody))).toContain('start one, or name it with --url')
    const page = { ...outside, fetch: async () => new Response('<html>') }
    expect(await refusalOf(explain('last', {}, page))).toContain('name yours with --url')
    const live = { ...outside, fetch: async () => new Response('', { status: 404 }) }
    expect(await refusalOf(explain('last', {}, live))).toContain('is no sandbox')
    expect(await refusalOf(explain('last', { url: 'localhost:4242' }, outside))).toContain('--url must begin with http')
  })

  test('flags that contradict each other, or that are no numbers', async () => {
    const { requests } = await start()
    const cases: [id: string | undefined, flags: Parameters<typeof requests>[1], says: string][] = [
      [undefined, { follow: true, as: 'curl' }, '--follow and --as contradict'],
      [undefined, { json: true, as: 'curl' }, '--json and --as contradict'],
      ['last', { follow: true }, 'an id and --follow contradict'],
      ['last', { as: 'curl', from: 'last' }, 'an id and --from and --to contradict'],
      [undefined, { from: 'last' }, '--from and --to need --as'],
      [undefined, { status: '4xx' }, '--status must be a number, not "4xx"'],
      [undefined, { limit: '0' }, '--limit must be a number, not "0"'],
    ]
    for (const [id, flags, says] of cases) expect(await refusalOf(requests(id, flags))).toContain(says)
  })
})

test('the command line has the commands, and knows their values', () => {
  const commands = new Map(program().commands.map((command) => [command.name(), command]))
  const options = (name: string) => commands.get(name)?.options.map(({ long }) => long)
  expect(options('explain')).toEqual(['--url', '--control-token', '--json'])
  expect(options('replay')).toEqual(['--url', '--control-token', '--diff', '--strict', '--in', '--json'])
  const { argChoices } = commands.get('requests')?.options.find(({ long }) => long === '--as') ?? {}
  expect(argChoices).toEqual(exportFormats)
})
