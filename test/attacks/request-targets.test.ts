import { describe, expect, it } from 'vitest'
import { readWire, sendLines } from '../support/contract/wire.js'
import { attackedSandbox } from '../support/scenes/strangers.js'

const { target, refused } = attackedSandbox()

describe('a request target', () => {
  it('with two or invalid Hosts is refused, and its connection is closed', async () => {
    const second = `GET /v4/dq HTTP/1.1\r\nHost: localhost\r\n\r\n`
    for (const hosts of [
      ['Host: 127.0.0.1', 'Host: evil.example.test'],
      ['Host: localhost', 'host: localhost'],
      ['Host: localhost, localhost'],
      ['Host: evil.example.test@localhost'],
      ['Host: localhost@evil.example.test'],
      ['Host: localhost:4242:80'],
      ['Host: localhost/evil'],
      ['Host: localhost#evil'],
      ['Host: localhost\\evil'],
      ['Host: local%68ost'],
      ['Host: [::1'],
      ['Host: localhost:99999'],
      ['Host: 127.0.0.999'],
      ['Host: é'],
      ['Host: localhost', ' .evil.example.test'],
      [`Host: ${'a'.repeat(8000)}`],
    ])
      for (const path of ['/', '/v4/dq', '*', 'http://localhost/v4/dq']) {
        const lines = [`${path === '*' ? 'OPTIONS' : 'GET'} ${path} HTTP/1.1`, ...hosts]
        const text = await sendLines(target().url, lines, second)
        expect([hosts, path, text.match(/HTTP\/1\.1 \d+/g)]).toEqual([hosts, path, ['HTTP/1.1 400']])
      }
  })

  it('that is a whole URL overrides the Host header', async () => {
    const { port } = target()
    const ask = async (address: string, ...headers: string[]) =>
      (await target().send(`GET ${address} HTTP/1.1`, headers)).status
    expect(await ask(`http://127.0.0.1:${port}/v4/dq`)).toBe(200)
    expect(await ask('HTTP://LOCALHOST/v4/dq', 'Host: evil.example.test')).toBe(200)
    expect(await ask('http://localhost/shop')).toBe(200)
    expect(await ask('http://evil.example.test/v4/dq', 'Host: localhost')).toBe(421)
    expect(await ask('http://localhost:80@evil.example.test/v4/dq')).toBe(400)
    expect(await ask('http://user@localhost/v4/dq')).toBe(400)
    const own = ['Host: localhost', 'Origin: http://evil.example.test', 'Content-Length: 0']
    expect((await target().send('POST http://evil.example.test/v4/account HTTP/1.1', own)).status).toBe(421)
  })

  it.each([
    'https://localhost/v4/dq',
    'ftp://localhost/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'localhost:4242',
    'v4/dq',
    '?a',
    '*',
    'http:/v4/dq',
    'http:localhost',
    'http://',
    '#',
  ])('in any other form is 400: %s', async (form) => {
    expect((await refused(`GET ${form} HTTP/1.1`)).status).toBe(400)
  })

  it.each([
    ['a tunnel', 'CONNECT evil.example.test:443 HTTP/1.1', NaN],
    ['a tunnel to the sandbox itself', 'CONNECT localhost:4242 HTTP/1.1', NaN],
    ['the whole server', 'OPTIONS * HTTP/1.1', 204],
    ['two slashes', 'GET //evil.example.test/v4/dq HTTP/1.1', 404],
    ['two slashes before a control', 'GET //_sandbox/outbox HTTP/1.1', 404],
    ['backslashes', 'GET /\\evil.example.test\\v4 HTTP/1.1', 404],
    ['steps up', 'GET /../../v4/dq HTTP/1.1', 200],
    ['an encoded slash', 'GET /v4%2fdq HTTP/1.1', 404],
    ['an encoded slash before a control', 'GET /_sandbox%2foutbox HTTP/1.1', 404],
    ['a broken escape', 'GET /v4/%zz HTTP/1.1', 404],
    ['a null', 'GET /v4/dq%00 HTTP/1.1', 404],
    ['a fragment', 'GET /v4/dq#a HTTP/1.1', 200],
  ])('with %s does not fail: %s', async (_, first, status) => {
    expect((await refused(first)).status).toBe(status)
  })

  it('without a Host is served over HTTP/1.0 and refused over HTTP/1.1', async () => {
    expect(readWire(await sendLines(target().url, ['GET /v4/dq HTTP/1.0'])).status).toBe(200)
    expect(readWire(await sendLines(target().url, ['GET /v4/dq HTTP/1.1'])).status).toBe(400)
    expect((await target().send('GET /v4/dq HTTP/1.1', ['Host:'])).status).toBe(200)
  })
})
