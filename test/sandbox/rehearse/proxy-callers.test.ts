import { expect, test } from 'vitest'
import { exchange, send, startProxy, startService } from './proxied.js'

/** Whom a proxy serves, and where it sends. */

const elsewhere = 'http://127.0.0.1:1'

test.each<[string, number, string | undefined]>([
  ['/a', 200, '/api/a'],
  ['/a?next=/../b', 200, '/api/a?next=/../b'],
  ['/.well-known/x402', 200, '/api/.well-known/x402'],
  ['/a..b/c', 200, '/api/a..b/c'],
  ['/a%20b?c=%20d', 200, '/api/a%20b?c=%20d'],
  ['//evil.example/a', 200, '/api//evil.example/a'],
  ['/@evil.example/a', 200, '/api/@evil.example/a'],
  ['/\\evil.example', 200, '/api/\\evil.example'],
  [`${elsewhere}/a`, 403, undefined],
  ['http:/evil', 403, undefined],
  ['evil.example:80', 403, undefined],
  ['*', 403, undefined],
  ['/Zo\xc3\xab', 400, undefined],
  ['/../a', 403, undefined],
  ['/b/..', 403, undefined],
  ['/..?a', 403, undefined],
  ['/..#a', 403, undefined],
  ['/..;/a', 403, undefined],
  ['/%2e%2E/a', 403, undefined],
  ['/.%2e/a', 403, undefined],
  ['/b%2f..%2fa', 403, undefined],
  ['/b%5c..%5Ca', 403, undefined],
  ['/b\\..\\a', 403, undefined],
  ['/./a', 403, undefined],
])('%s: %i', async (target, status, reached) => {
  const { url, asked } = await startService()
  const { port } = await startProxy(`${url}/api`)
  const method = target === '*' ? 'OPTIONS' : 'GET'
  const answer = await exchange(port, `${method} ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
  const [line] = answer.split('\r\n')
  if (status === 200) expect(line).toBe('HTTP/1.1 200 OK')
  // Some targets are no request at all, and so are refused before they are looked at.
  else expect(line).toMatch(/^HTTP\/1\.1 40[03] /)
  if (status !== 200) expect(answer).toMatch(/\r\nproxy-status: farthing; error=http_request_(?:denied|error)\r\n/)
  expect(asked.map((each) => each.url)).toEqual(reached === undefined ? [] : [reached])
})

test('CONNECT leads nowhere', async () => {
  const { url, port: other, asked } = await startService()
  const { port } = await startProxy(url)
  expect(await exchange(port, `CONNECT 127.0.0.1:${other} HTTP/1.1\r\nhost: 127.0.0.1:${other}\r\n\r\n`)).toBe('')
  expect(asked).toEqual([])
})

const here = '127.0.0.1'
const all = '0.0.0.0'

test.each<[host: string, headers: Record<string, string>, status: number]>([
  [here, { host: 'localhost:1234' }, 200],
  [here, { host: '[::1]' }, 200],
  [here, { host: 'api.localhost' }, 200],
  [here, { host: 'rebound.example' }, 403],
  [here, { host: '127.0.0.1.rebound.example' }, 403],
  [here, { host: 'localhost@rebound.example' }, 403],
  [here, { host: '192.168.0.1' }, 403],
  [here, { origin: 'http://localhost:3000' }, 200],
  [here, { origin: 'https://a.example' }, 403],
  [here, { origin: 'null' }, 403],
  [here, { origin: 'http://localhost.a.example' }, 403],
  [here, { 'sec-fetch-site': 'same-site' }, 200],
  // An image, or a link, of another origin.
  [here, { 'sec-fetch-site': 'cross-site' }, 403],
  [here, { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:3000' }, 200],
  [all, { host: 'rebound.example' }, 403],
  [all, { host: 'rebound.example', origin: 'http://rebound.example' }, 403],
  [all, { host: '192.168.0.1:4000' }, 200],
  [all, { host: '[fd00::1]:4000' }, 200],
  [all, { host: 'proxy:4000' }, 200],
  [all, { host: 'host.docker.internal:4000' }, 200],
  [all, { host: '192.168.0.1:4000', origin: 'http://192.168.0.1:3000' }, 200],
  [all, { origin: 'https://a.example' }, 403],
  [all, { 'sec-fetch-site': 'cross-site' }, 403],
])('at %s, %j: %i', async (host, headers, status) => {
  const { url, asked } = await startService()
  const { port } = await startProxy(url, { host })
  for (const method of ['GET', 'POST']) {
    const answer = await send(port, '/a', { method, headers })
    expect(answer.status).toBe(status)
    expect(answer.headers['proxy-status']).toBe(status === 403 ? 'farthing; error=http_request_denied' : undefined)
  }
  expect(asked).toHaveLength(status === 200 ? 2 : 0)
})
