import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { destinationOf, openProxy } from '../../../sandbox/commands/proxy.js'
import { loadProfile } from '../../../sandbox/proxy/profile.js'
import { listening, payProfile } from './proxied.js'

/** What a profile and the flags of a proxy may say, and which sentence a mistake gets. */

async function loaded(profile: unknown, name = 'profile.json') {
  const directory = await mkdtemp(join(tmpdir(), 'farthing-profile-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const file = join(directory, name)
  await writeFile(file, typeof profile === 'string' ? profile : JSON.stringify(profile))
  return loadProfile(file)
}

const ofCall = (call: object) => ({ ...payProfile, calls: { pay: { request: 'POST /pay/:id', ...call } } })

test.each<[string, unknown, string]>([
  ['an unknown field', { ...payProfile, amuont: ['/a'] }, 'amuont is not a field. Did you mean "amount"?'],
  [
    'an unknown field of a call',
    ofCall({ payement: '/id' }),
    'calls.pay.payement is not a field. Did you mean "payment"?',
  ],
  ['no calls', {}, 'calls is missing: it must be a record'],
  ['an empty list of calls', { calls: {} }, 'calls must have at least one, which pays'],
  ['no request', { calls: { pay: {} } }, 'calls.pay.request is missing: it must be a string'],
  [
    'a request without a method',
    ofCall({ request: '/pay' }),
    'calls.pay.request must be a method and a path, such as "POST /payments"',
  ],
  ['a request with a query', ofCall({ request: 'POST /pay?a=b' }), 'calls.pay.request must be a method and a path'],
  [
    'the same request twice',
    { calls: { a: { request: 'POST /a' }, b: { request: 'POST /a' } } },
    'calls.b.request must not be that of calls.a',
  ],
  [
    'a place that is none',
    ofCall({ amount: ['amount'] }),
    'calls.pay.amount[0] must be a JSON pointer, "header:name" or "path:name"',
  ],
  [
    'a pointer that is none',
    { ...payProfile, payment: 'id' },
    'payment must be a JSON pointer, such as "/customer/id"',
  ],
  ['a text where a list must be', { ...payProfile, item: '/a' }, 'item must be an array'],
  [
    'a part that the path has not',
    ofCall({ item: ['path:order'] }),
    'calls.pay.item must name a part of its path, and "POST /pay/:id" has no :order',
  ],
  ['an earlier call that the path does not name', ofCall({ of: 'order' }), 'calls.pay.of must name a part of its path'],
  [
    'a key that the path has not',
    ofCall({ keys: { key: 'path:key' } }),
    'calls.pay.keys.key must name a part of its path',
  ],
  [
    'a rule that rules nothing',
    { ...payProfile, outcome: [{ field: '/a' }] },
    'outcome[0] must be a rule with paid, pending, held, refused or reversed',
  ],
  [
    'an outcome that nobody knows',
    { ...payProfile, outcome: [{ field: '/a', payed: ['yes'] }] },
    'outcome[0].payed is not a field. Did you mean "paid"?',
  ],
  ['decimals below none', { ...payProfile, decimals: -1 }, 'decimals must be at least 0'],
  ['parts of decimals', { ...payProfile, decimals: 1.5 }, 'decimals must be an integer'],
  ['a status that is no refusal', { ...payProfile, retry: [200] }, 'retry[0] must be at least 400'],
  [
    'a variable that cannot be one',
    { ...payProfile, environment: ['a=b'] },
    'environment[0] must be the name of a variable, such as "PAYMENT_URL"',
  ],
  ['a list', [], 'must be an object'],
  ['no JSON', '{', 'is not JSON'],
])('%s', async (_, profile, sentence) => {
  await expect(loaded(profile)).rejects.toThrow(sentence)
  await expect(loaded(profile)).rejects.toThrow(/profile\.json/)
  await expect(loaded(profile)).rejects.not.toThrow(/must be (?:must|of another form)/)
})

test('may be YAML', async () => {
  const { calls } = await loaded('calls:\n  pay:\n    request: POST /pay\n', 'profile.yaml')
  expect(calls).toEqual({ pay: { request: 'POST /pay' } })
})

test.each([
  [{ to: 'ftp://user:secret-of-theirs@a' }, '--to must begin with http:// or https://'],
  [{ to: 'secret-of-theirs' }, '--to must begin with http:// or https://'],
  [{ to: 'http://a:secret-of-theirs@c', profile: 'stripe' }, '--to must have no user'],
  [{ to: 'http://a/?key=secret-of-theirs', profile: 'stripe' }, '--to must have no user'],
  [{ to: 'http://127.0.0.1:1' }, '--to needs --profile'],
  [{ to: 'http://127.0.0.1:1', profile: 'strip' }, '--profile must be stripe, x402 or a file, not "strip"'],
  [{ to: 'http://127.0.0.1:1', profile: './none.json' }, 'cannot read ./none.json'],
  [{ to: 'http://127.0.0.1:1', profile: 'stripe', port: 'x' }, '--port must be a whole number'],
  [{ to: 'http://127.0.0.1:1', profile: 'stripe', port: '99999' }, '--port must be at most 65535'],
])('refuses %j', async (flags, sentence) => {
  await expect(openProxy(flags)).rejects.toThrow(sentence)
  await expect(openProxy(flags)).rejects.not.toThrow(/secret-of-theirs/)
})

test('refuses to stand before itself', async () => {
  const port = await listening(createServer())
  const flags = { to: `http://localhost:${port}`, profile: 'stripe', port: String(port) }
  await expect(openProxy(flags)).rejects.toThrow(`port ${port} is in use`)
  const free = String(await freePort())
  await expect(openProxy({ ...flags, to: `http://localhost:${free}`, port: free })).rejects.toThrow('proxy itself')
})

async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listening(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('takes an address with a port, a path and IPv6', () => {
  expect(destinationOf('https://[::1]:8443/api/')).toEqual({
    ...{ protocol: 'https:', hostname: '[::1]', port: '8443', host: '[::1]:8443', base: '/api' },
  })
})
