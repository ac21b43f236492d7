import * as zlib from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { smallestUnits } from '../../../sandbox/proxy/fields.js'
import { loadProfile, type ProxyProfile } from '../../../sandbox/proxy/profile.js'
import { judgeRun } from '../../../src/sandbox/rehearse/judge.js'
import type { RunRecord } from '../../../src/sandbox/rehearse/record.js'
import { PAID, pay, payProfile, send, startProxy, startService } from './proxied.js'

/** What the judge reads of messages, in each form that they may have. The client gets the bytes as they are. */

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'
const nothing: RunRecord = {
  ...{ calls: [], payments: [], deliveries: [], output: '', secrets: [] },
  ended: { isOk: true, result: undefined },
}

type Code = (bytes: Buffer) => Buffer
const zstd: Code | undefined = Reflect.get(zlib, 'zstdCompressSync')

const codings: [string, Code][] = [
  ['identity', (bytes) => bytes],
  ['gzip', (bytes) => zlib.gzipSync(bytes)],
  ['X-GZIP', (bytes) => zlib.gzipSync(bytes)],
  ['deflate', (bytes) => zlib.deflateSync(bytes)],
  ['Deflate', (bytes) => zlib.deflateRawSync(bytes)],
  ['br', (bytes) => zlib.brotliCompressSync(bytes)],
  ['gzip, br', (bytes) => zlib.brotliCompressSync(zlib.gzipSync(bytes))],
  ...(zstd ? [['zstd', zstd] satisfies [string, Code]] : []),
]

describe('coded bodies', () => {
  test.each(codings)('%s', async (coding, code) => {
    const answer = code(Buffer.from(JSON.stringify({ ...PAID, charged: 7 })))
    const { url, asked } = await startService((response) => {
      response.writeHead(200, { 'content-type': json, 'content-encoding': coding, 'content-length': answer.length })
      response.end(answer)
    })
    const { port, record } = await startProxy(url, { profile: { ...payProfile, charged: '/charged' } })
    const body = code(Buffer.from('{"amount":7}'))
    const answered = await pay(port, { body, headers: { 'content-type': json, 'content-encoding': coding } })
    expect(answered.headers).toMatchObject({ 'content-encoding': coding, 'content-length': String(answer.length) })
    expect(answered.body).toEqual(answer)
    expect(Buffer.from(asked[0]?.body ?? '', 'latin1')).toEqual(body)
    const { calls, payments } = await record()
    expect(payments).toMatchObject([{ amount: '7', status: 'posted' }])
    // The request was read too, so it stated the price.
    expect(calls).toMatchObject([{ statesPrice: true }])
  })

  test.each<[string, string, Buffer]>([
    ['a coding that nobody knows', 'secret', Buffer.from('{}')],
    ['a wrong coding', 'gzip', Buffer.from('{}')],
    ['many codings', Array(20).fill('gzip').join(), Buffer.from('{}')],
    ['a bomb', 'gzip', zlib.gzipSync(Buffer.alloc(20_000_000))],
    ['a name of an object', 'constructor', Buffer.from('{}')],
  ])('%s is passed on, and not read', async (_, coding, answer) => {
    const { url } = await startService((response) => {
      response.writeHead(200, { 'content-encoding': coding, 'content-length': answer.length })
      response.end(answer)
    })
    const { port, record } = await startProxy(url)
    const answered = await pay(port, { body: answer, headers: { 'content-encoding': coding } })
    expect(answered.body).toEqual(answer)
    expect(await record()).toMatchObject({ calls: [{ status: 200 }], payments: [] })
  })
})

interface Kind {
  readonly title: string
  readonly type?: string
  readonly body: string | Buffer
  readonly profile?: Partial<ProxyProfile>
  readonly headers?: Record<string, string>
  readonly amount: string
  readonly keys?: number
}

const kinds: readonly Kind[] = [
  { title: 'JSON', type: json, body: '{"amount":5}', amount: '5' },
  { title: 'JSON without a type', body: '{"amount":"5"}', amount: '5' },
  { title: 'JSON with a mark at its begin', type: json, body: '\ufeff{"amount":5}', amount: '5' },
  {
    title: 'JSON in UTF-16',
    type: `${json}; charset=utf-16le`,
    body: Buffer.from('{"amount":5}', 'utf16le'),
    amount: '5',
  },
  { title: 'JSON in a charset that nobody knows', type: `${json}; charset=none`, body: '{"amount":5}', amount: '5' },
  { title: 'JSON of another type', type: 'application/vnd.a+json', body: '{"amount":5}', amount: '5' },
  { title: 'nested JSON', type: json, body: '{"a":[{"b/c":5}]}', profile: { amount: ['/a/0/b~1c'] }, amount: '5' },
  { title: 'a form', type: form, body: 'amount=5&a%5Bb%5D=c', amount: '5' },
  {
    title: 'a nested form',
    type: form,
    body: 'order%5Bamount%5D=5',
    profile: { amount: ['/order[amount]'] },
    amount: '5',
  },
  { title: 'decimals', type: form, body: 'amount=12.50', profile: { decimals: 2 }, amount: '1250' },
  { title: 'the second place', type: json, body: '{"b":5}', profile: { amount: ['/a', '/b'] }, amount: '5' },
  { title: 'a key in a header', headers: { 'idempotency-key': 'a' }, body: '{"amount":5}', amount: '5', keys: 1 },
  {
    title: 'a key in a field',
    body: '{"amount":5,"meta":{"key":"ключ"}}',
    profile: { keys: { key: '/meta/key' } },
    amount: '5',
    keys: 1,
  },
  {
    title: 'a key that is a number',
    body: '{"amount":5,"key":7}',
    profile: { keys: { key: '/key' } },
    amount: '5',
    keys: 1,
  },
  { title: 'text', type: 'text/plain', body: 'amount=5', amount: '0' },
  { title: 'XML', type: 'application/xml', body: '<amount>5</amount>', amount: '0' },
  { title: 'bytes', type: 'application/octet-stream', body: Buffer.from([0, 255, 254]), amount: '0' },
  { title: 'broken JSON', type: json, body: '{"amount":5', amount: '0' },
  { title: 'deep JSON', type: json, body: '['.repeat(20_000) + ']'.repeat(20_000), amount: '0' },
  { title: 'a name that objects have', type: json, body: '{"__proto__":{"amount":5},"constructor":1}', amount: '0' },
  { title: 'a lone surrogate', type: json, body: '{"amount":5,"a":"\\ud800"}', amount: '5' },
]

describe('requests', () => {
  test.each(kinds)('$title', async ({ type, body, profile, headers = {}, amount, keys = 0 }) => {
    const { url, asked } = await startService()
    const { port, record } = await startProxy(url, { profile: { ...payProfile, ...profile } })
    await pay(port, { body, headers: { ...headers, ...(type !== undefined && { 'content-type': type }) } })
    expect(Buffer.from(asked[0]?.body ?? '', 'latin1')).toEqual(Buffer.from(body as string))
    const { calls, payments } = await record()
    expect(payments).toMatchObject([{ amount }])
    expect(calls[0]?.identifiers).toHaveLength(keys)
  })

  /** Two requests, and whether they ask for the same thing where the profile does not say what is bought. */
  test.each<[string, isSame: boolean, [path: string, body: string], [path: string, body: string], type?: string]>([
    ['another order', false, ['/pay/1', '{}'], ['/pay/2', '{}']],
    ['another query', false, ['/pay/1?a=1', '{}'], ['/pay/1?a=2', '{}']],
    ['another body', false, ['/pay/1', '{"a":1}'], ['/pay/1', '{"a":2}']],
    ['another order of fields', true, ['/pay/1', '{"a":1,"b":2}'], ['/pay/1', '{"b":2,"a":1}']],
    ['another key', true, ['/pay/1', '{"meta":{"key":1,"order":1}}'], ['/pay/1', '{"meta":{"key":2,"order":1}}']],
    [
      'another order beside the key',
      false,
      ['/pay/1', '{"meta":{"key":1,"order":1}}'],
      ['/pay/1', '{"meta":{"key":1,"order":2}}'],
    ],
    ['another amount', true, ['/pay/1', '{"amount":1}'], ['/pay/1', '{"amount":2}']],
    ['other items of a form', false, ['/pay/1', 'a[]=1&a[]=2'], ['/pay/1', 'a[]=3&a[]=2'], form],
    ['other XML', false, ['/pay/1', '<a>1</a>'], ['/pay/1', '<a>2</a>'], 'text/xml'],
    [
      'another boundary',
      true,
      ['/pay/1', '--x\r\na\r\n--x--'],
      ['/pay/1', '--y\r\na\r\n--y--'],
      'multipart/form-data; boundary=',
    ],
  ])('%s: the same is %s', async (_, isSame, one, other, type) => {
    const { url } = await startService()
    const profile = { ...payProfile, keys: { key: '/meta/key' }, calls: { pay: { request: 'POST /pay/:order' } } }
    const { port, record } = await startProxy(url, { profile })
    for (const [path, body] of [one, other]) {
      const of = type?.endsWith('=') ? type + body.slice(2, 3) : (type ?? json)
      await send(port, path, { method: 'POST', body, headers: { 'content-type': of } })
    }
    const [first, second] = (await record()).calls
    expect(first?.item === second?.item).toBe(isSame)
  })

  test('the profile of Stripe reads nested forms, and keys in a header', async () => {
    let paid = 0
    const { url } = await startService((response) => {
      paid++
      response.end(JSON.stringify({ id: `ch_${paid}`, amount: 2000, status: 'succeeded' }))
    })
    const { port, record } = await startProxy(url, { profile: await loadProfile('stripe') })
    for (const [order, key] of ['a1', 'a2', 'b3'].map((each) => [...each])) {
      const body = `amount=2000&currency=eur&metadata[order_id]=${order}&payment_method_options[card][a]=${key}`
      const headers = { 'content-type': form, 'idempotency-key': `key-of-${order}-${key}` }
      await send(port, '/v1/charges', { method: 'POST', body, headers })
    }
    const run = await record()
    expect(run.payments).toHaveLength(3)
    const [verdict, ...others] = judgeRun(run, nothing)
    expect(verdict).toMatchObject({ name: 'paid_twice', habit: 'new_key_each_try', calls: 2, payments: 2 })
    expect(others).toEqual([])
  })
})

test.each<[string, number, bigint | undefined]>([
  ['5', 0, 5n],
  ['5', 2, 500n],
  ['5.1', 2, 510n],
  ['5.129', 2, 512n],
  ['.5', 2, undefined],
  ['5.', 2, 500n],
  ['1e-7', 18, 100_000_000_000n],
  ['1E+21', 0, 10n ** 21n],
  ['0.5', 0, 0n],
  ['1e-7', 2, 0n],
  ['123456789012345678901234567890', 0, 123456789012345678901234567890n],
  ['-5', 2, undefined],
  ['1,234.50', 2, undefined],
  ['€5', 2, undefined],
  ['1e999999999', 0, undefined],
])('%s with %i decimals is %s', (text, decimals, expected) => {
  expect(smallestUnits(text, decimals)).toBe(expected)
})
