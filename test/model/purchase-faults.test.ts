import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { nodeUpstream } from '../../adapters/node.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service, type ServiceOptions } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { isWhole } from '../support/how-much.js'
import {
  changeItem,
  newItem,
  newShop,
  purchase,
  putParameters,
  type Shop,
  settledSums,
} from '../support/scenes/catalog.js'
import { advance, expectProblem } from '../support/scenes/market.js'
import { closedPort, useUpstream } from '../support/scenes/upstream.js'
import { newPayer } from '../support/scenes/world.js'
import { failingStorage } from '../support/storage/failing-storage.js'
import { useFileStorages } from '../support/storage/file-storages.js'

const upstream = useUpstream()
/** Where nobody listens. */
let closed: number
beforeAll(async () => {
  closed = await closedPort()
})

interface Fault {
  readonly url: () => string
  /** What the receipt says that it answered. */
  readonly answered: number | null
  readonly status: 'paid' | 'reversed'
  readonly options?: Partial<ServiceOptions>
}

const at = (path: string, answered: number | null): Fault => ({
  url: () => `${upstream.url}/${path}`,
  answered,
  status: answered !== null && answered < 500 ? 'paid' : 'reversed',
})

const faults: Record<string, Fault> = {
  'none: it answers 200': at('ok', 200),
  'it answers piece by piece': at('pieces', 200),
  'it answers 404': at('status/404/', 404),
  'it answers 500': at('status/500/', 500),
  'it answers 503': at('status/503/', 503),
  'its name is unknown': { ...at('', null), url: () => 'http://nobody.invalid/' },
  'it refuses the connection': { ...at('', null), url: () => `http://127.0.0.1:${closed}/` },
  'it breaks the connection off': at('reset', null),
  'it is silent before its head': at('hang', null),
  'it is silent after its head': at('stall', null),
  'its body is cut short': at('truncated', null),
  'its body is too large': at('large', null),
  'it redirects inward': at('redirect', null),
  'the port itself fails': {
    ...at('ok', null),
    options: {
      upstream: {
        fetch() {
          throw new TypeError('a broken port')
        },
      },
    },
  },
}

const LIMITS = { upstreamMs: 400, upstreamBytes: 100_000 }
const files = useFileStorages()
/** The one on which every fault is tried in `npm test`. */
const RERUN = 'memory, every write run twice'
const storages: Record<string, () => Promise<Storage>> = {
  memory: async () => memoryStorage(),
  [RERUN]: async () => memoryStorage({ rerun: true }),
  file: () => files.open(),
}
/** One fault of each outcome. On what storage the call waits changes nothing between them. */
const samples = ['none: it answers 200', 'it answers 500', 'its body is cut short']
const triedOn = (storage: string) =>
  Object.entries(faults).filter(([fault]) => isWhole || storage === RERUN || samples.includes(fault))

let service: Service
let call: Call
let shop: Shop

function serve(storage: Storage, options: Partial<ServiceOptions> = {}): void {
  service = createService({ storage, sandbox: true, limits: LIMITS, upstream: nodeUpstream(), ...options })
  call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
}

/** A service, and a shop whose item costs 1 and is called there. */
async function begin(storage: Storage, url = `${upstream.url}/ok`, options: Partial<ServiceOptions> = {}) {
  serve(storage, options)
  shop = await newShop(call, { price: 1, external_endpoint: url })
}

afterEach(() => service.close())

const OSLO = { arguments: { city: 'Oslo' } }
const buy = (headers: Record<string, string> = {}): Promise<Answer> =>
  purchase(call, { token: shop.payer.token, headers }, shop.item, OSLO)

/** One purchase, in one of the two ways, and nothing held; as the rows at rest say too. Gives its receipt. */
async function expectSettled(status: Fault['status']) {
  const isPaid = status === 'paid'
  expect(await settledSums(call, shop)).toEqual(isPaid ? [9, 1] : [10, 0])
  const { rows } = await service.sandbox.snapshot()
  expect(rows.held_calls ?? []).toEqual([])
  expect(rows.payments).toMatchObject([{ kind: 'purchase', status: isPaid ? 'posted' : 'reversed' }])
  const { purchases } = (await call('GET', '/v4/purchases', { token: shop.payer.token })).body
  expect(purchases).toMatchObject([{ status }])
  const { events } = (await call('GET', '/v4/events', { token: shop.seller.token })).body
  const told = events.filter(({ type }: { type: string }) => type.startsWith('purchase.'))
  expect(told).toMatchObject([{ type: `purchase.${status}` }])
  return purchases[0]
}

/** What is true when every write runs twice is true when it runs once. */
const tried = Object.keys(storages).filter((name) => isWhole || name !== 'memory')

describe.each(tried)('on %s', (name) => {
  const open = storages[name] as () => Promise<Storage>

  test.each(triedOn(name))('%s: the purchase settles once, and no value stays held', async (_, fault) => {
    await begin(await open(), fault.url(), fault.options)
    const answer = await buy()
    expect(answer.status).toBe(fault.status === 'paid' ? 201 : 502)
    const receipt = await expectSettled(fault.status)
    expect(answer.body.transaction_id).toBe(receipt.transaction_id)
    expect(receipt.response?.status ?? null).toBe(fault.answered)
  })

  test.each(triedOn(name))(
    '%s: a purchase with an idempotency key calls the endpoint at most once',
    async (_, fault) => {
      await begin(await open(), fault.url(), fault.options)
      const ask = () => buy({ 'idempotency-key': 'once' })
      const answers = [...(await Promise.all([ask(), ask(), ask()])), await ask()]
      const done = answers.filter(({ status }) => status !== 409)
      expect(new Set(done.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(done[0]?.status).toBe(fault.status === 'paid' ? 201 : 502)
      expect(upstream.requests.length).toBeLessThanOrEqual(1)
      await expectSettled(fault.status)
    },
  )
})

test.each(triedOn('memory'))('%s: a service that charges on upstream errors still gets paid', async (_, fault) => {
  await begin(memoryStorage(), fault.url(), { ...fault.options, chargeOnUpstreamError: true })
  const answer = await buy()
  expect([answer.status, answer.body.status, answer.body.response?.status ?? null]).toEqual([
    201,
    'paid',
    fault.answered,
  ])
  expect(answer.body.response?.body === null).toBe(false)
  await expectSettled('paid')
})

test.each([
  ['text, with its byte order mark', [0xef, 0xbb, 0xbf, 0x41], '\ufeffA', undefined],
  ['text that holds U+0000', [0x41, 0, 0x42], 'A\0B', undefined],
  ['bytes that are no text', [0xff, 0xfe, 0x41], '//5B', 'base64'],
])('delivers %s byte for byte', async (_, bytes, body, encoding) => {
  const answering = { fetch: async () => new Response(new Uint8Array(bytes)) }
  await begin(memoryStorage(), upstream.url, { upstream: answering })
  const bought = (await buy()).body
  expect([bought.response.body, bought.response.body_encoding]).toEqual([body, encoding])
  const read = await call('GET', `/v4/purchases/${bought.transaction_id}`, { token: shop.payer.token })
  expect(read.body).toEqual(bought)
})

test('an endpoint that may no longer be called is neither called nor paid', async () => {
  let isAllowed = true
  await begin(memoryStorage(), `${upstream.url}/ok`, { allowUpstream: () => isAllowed })
  isAllowed = false
  expectProblem(await buy(), 502, 'upstream_failed')
  expect(upstream.requests).toEqual([])
  await expectSettled('reversed')
})

test('a purchase that a storage failure keeps from settling is reversed once the storage works again', async () => {
  const storage = failingStorage()
  const failing = {
    fetch: async () => {
      storage.failing = 'writes'
      return new Response('{}', { headers: { 'content-type': 'application/json' } })
    },
  }
  await begin(storage, upstream.url, { upstream: failing, log: { error: () => {} } })
  expectProblem(await buy(), 503, 'outcome_unknown')
  storage.failing = 'nothing'
  await advance(call, '31s')
  await expectSettled('reversed')
})

test('moving the clock during a call to an endpoint does not reverse its payment', async () => {
  await begin(memoryStorage(), `${upstream.url}/slow`)
  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  const answer = buy()
  await expect.poll(() => upstream.requests.length).toBe(1)
  const { purchases } = (await call('GET', '/v4/purchases', { token: shop.payer.token })).body
  expect(purchases).toMatchObject([{ status: 'held', response: null }])
  await advance(call, '50m')
  expect((await answer).status).toBe(201)
  await expectSettled('paid')
})

test('restoring a snapshot reverses the purchase that it shows as held', async () => {
  await begin(memoryStorage(), `${upstream.url}/slow`)
  const answer = buy()
  await expect.poll(() => upstream.requests.length).toBe(1)
  const snapshot = await service.sandbox.snapshot()
  expect((await answer).status).toBe(201)
  await service.sandbox.restore(snapshot)
  await expectSettled('reversed')
})

test('a purchase whose state is replaced during the call is answered as failed, and posts nothing', async () => {
  await begin(memoryStorage(), `${upstream.url}/slow`)
  const before = await service.sandbox.snapshot()
  const answer = buy()
  await expect.poll(() => upstream.requests.length).toBe(1)
  await service.sandbox.restore(before)
  expectProblem(await answer, 502, 'upstream_failed')
  expect(await settledSums(call, shop)).toEqual([10, 0])
})

test('a service that closes lets its purchases settle first', async () => {
  await begin(await files.open(), `${upstream.url}/slow`)
  const answer = buy()
  await expect.poll(() => upstream.requests.length).toBe(1)
  await service.close()
  expect((await answer).status).toBe(201)
  await files.closeAll()
  serve(await files.open())
  await expectSettled('paid')
})

test('the next start reverses the unfinished purchase of a killed process, and its key never calls the endpoint again', async () => {
  await begin(await files.open(), `${upstream.url}/slow`)
  const lost = buy({ 'idempotency-key': 'once' })
  await expect.poll(() => upstream.requests.length).toBe(1)
  // What is on the disk now is what a killed process leaves behind.
  const left = await files.leave('killed')
  expect((await lost).status).toBe(201)
  await service.close()
  await files.closeAll()
  serve(await files.open({ file: left }))
  const { transaction_id } = await expectSettled('reversed')
  const again = await buy({ 'idempotency-key': 'once' })
  expectProblem(again, 502, 'upstream_failed')
  expect([again.headers.get('idempotent-replayed'), again.body.transaction_id]).toEqual(['true', transaction_id])
  expect(upstream.requests).toHaveLength(1)
})

test('a parameter encrypted with another key is shown as not set, and the purchase is refused before any value is held', async () => {
  const storage = memoryStorage()
  await begin(storage, `${upstream.url}/ok`, { encryptionKey: '11'.repeat(32) })
  const { seller, item } = shop
  const key = { kind: 'query', name: 'key', sensitive: false, value: 'sealed-before' }
  const [made] = (await putParameters(call, seller, item, [key])).body.parameters
  const first = (await buy()).body
  serve(storage, { encryptionKey: '22'.repeat(32) })
  const { body } = await call('GET', `/v4/catalog/items/${item.id}/parameters`, { token: seller.token })
  expect(body.parameters).toEqual([{ ...made, value: null, value_set: false }])
  upstream.requests.length = 0
  expectProblem(await buy(), 502, 'parameter_unreadable')
  expect([upstream.requests.length, await settledSums(call, shop)]).toEqual([0, [9, 1]])
  const receipt = await call('GET', `/v4/purchases/${first.transaction_id}`, { token: shop.payer.token })
  expect(receipt.body.response).toEqual({ ...first.response, body: null })
  const again = [{ ...made, value: 'sealed-after' }]
  expect((await putParameters(call, seller, item, again)).body.parameters[0]).toMatchObject({ value: 'sealed-after' })
  expect((await buy()).status).toBe(201)
  expect(upstream.requests[0]?.path).toContain('key=sealed-after')
})

const SECRETS = { header: 'Bearer sk-ü+"live"/1', query: 'query secret & more', url: 'url/secret+part' }

/** Repeats all that it is sent, as answers to debugging and pages of errors do. */
async function startEcho() {
  const server = createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += chunk
    const { pathname, searchParams } = new URL(req.url ?? '', 'http://echo.example.test')
    if (pathname.startsWith('/reset')) return res.destroy()
    const { authorization } = req.headers
    const said = { path: req.url, read: [decodeURIComponent(pathname), ...searchParams.values()], authorization, body }
    const token = authorization?.split(' ')[1]
    const text = `${JSON.stringify(said)}\nread as ${said.read.join(' ')}, ${authorization}, that is ${token}`
    const head = {
      'content-length': Buffer.byteLength(text),
      'x-authorization': encodeURIComponent(`${authorization}`),
    }
    if (pathname.startsWith('/short')) {
      res.writeHead(200, { ...head, 'content-length': text.length + 500 }).write(text)
      return setTimeout(() => res.destroy(), 20)
    }
    return res.writeHead(pathname.startsWith('/500') ? 500 : 200, head).end(Buffer.from(text, 'utf8'))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

test.each([false, true])(
  'a sensitive value is in no answer, log line, event, snapshot, journal or data file (charging on errors: %s)',
  async (chargeOnUpstreamError) => {
    const echo = await startEcho()
    const seen: string[] = []
    const log = { error: (...entry: unknown[]) => void seen.push(entry.map((each) => text(each)).join(' ')) }
    const text = (value: unknown): string =>
      value instanceof Error
        ? `${value.stack} ${text(value.cause)} ${JSON.stringify(value)}`
        : (JSON.stringify(value) ?? '')
    serve(await files.open(), { log, chargeOnUpstreamError })
    const plain = call
    call = async (...sent) => {
      const answer = await plain(...sent)
      seen.push(answer.text, JSON.stringify([...answer.headers]))
      return answer
    }
    shop = await newShop(call)
    const { seller, payer } = shop
    const outcomes: string[] = []
    for (const [path, body] of [
      ['ok', OSLO],
      ['500', OSLO],
      ['short', OSLO],
      ['reset', OSLO],
      ['ok', { arguments: { city: 5 } }],
      ['ok', { ...OSLO, price: 3 }],
    ] as const)
      for (const service_method of ['GET', 'POST']) {
        const external_endpoint = `${echo.url}/${path}/{secret.PART}?of={secret.PART}`
        const item = await newItem(call, seller, { external_endpoint, service_method })
        await putParameters(call, seller, item, [
          { kind: 'header', name: 'Authorization', sensitive: true, value: SECRETS.header },
          { kind: 'query', name: 'key', sensitive: true, value: SECRETS.query },
          { kind: 'url', name: 'PART', sensitive: true, value: SECRETS.url },
        ])
        const { status } = await purchase(call, { token: payer.token }, item, body)
        outcomes.push(`${path} ${status}`)
        await changeItem(call, seller, item, { name: 'Changed' })
        await call('GET', `/v4/catalog/items/${item.id}/parameters`, { token: seller.token })
      }
    const failed = chargeOnUpstreamError ? 201 : 502
    expect([...new Set(outcomes)]).toEqual([
      'ok 201',
      `500 ${failed}`,
      `short ${failed}`,
      `reset ${failed}`,
      'ok 422',
      'ok 409',
    ])
    const other = await newPayer(call, seller)
    for (const { token } of [payer, seller, other])
      for (const path of ['/v4/purchases', '/v4/events?limit=100', '/v4/payments?limit=100', '/v4/catalog/items'])
        await call('GET', path, { token })
    const { purchases } = (await call('GET', '/v4/purchases?limit=100', { token: payer.token })).body
    for (const { transaction_id: id } of purchases)
      for (const { token } of [payer, seller]) await call('GET', `/v4/purchases/${id}`, { token })
    expect(seen.some((said) => said.includes('read as'))).toBe(true)
    seen.push(JSON.stringify(await service.sandbox.snapshot()))
    seen.push(...Object.values(await files.contents()))
    await service.close()
    seen.push(...Object.values(await files.contents()))
    const bytes = Buffer.from(seen.join('\n'), 'utf8').toString('latin1')
    for (const secret of Object.values(SECRETS))
      for (const spelling of spellingsOf(secret))
        expect([spelling, bytes.includes(Buffer.from(spelling, 'utf8').toString('latin1'))]).toEqual([spelling, false])
    await echo.close()
  },
)

/** As it is, in a URL, in JSON and in bytes. */
const spellingsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ a: secret }).toString().slice(2),
  JSON.stringify(secret).slice(1, -1),
  secret.replace('Bearer ', ''),
  Buffer.from(secret).toString('base64'),
  Buffer.from(secret).toString('hex'),
]
