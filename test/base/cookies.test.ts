import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { deviceCookieHeader, sessionCookieHeader } from '../../src/http/caller.js'
import { controlCookie } from '../../src/sandbox/onion/guard.js'

/** Every cookie that the service sets, by the URL at which it is reached. */
const cookies: Record<string, (url: string) => string> = {
  'a session': (url) => sessionCookieHeader('a'.repeat(64), url),
  'the end of a session': (url) => sessionCookieHeader(null, url),
  'a proven device': (url) => deviceCookieHeader('1-2', url),
  'the control token': (url) => controlCookie('token', url),
}

const attributes = (header: string) => header.split('; ').slice(1)

test.each(Object.entries(cookies))('the cookie of %s stays in its browser, and over https on https', (_, header) => {
  for (const [url, path] of [
    ['https://pay.example.test', '/'],
    ['https://pay.example.test/money', '/money'],
    ['http://127.0.0.1:4242', '/'],
  ] as const) {
    const found = attributes(header(url))
    expect(found).toContain('HttpOnly')
    expect(found.filter((each) => each === 'SameSite=Lax' || each === 'SameSite=Strict')).toHaveLength(1)
    // Pages of the sandbox lie beside its base URL.
    expect(found).toContain(header === cookies['the control token'] ? 'Path=/' : `Path=${path}`)
    expect(found.includes('Secure')).toBe(url.startsWith('https:'))
    expect(found.filter((each) => each.startsWith('Domain'))).toEqual([])
  }
})

test('only these functions write the attributes of cookies', () => {
  const source = new URL('../../src/', import.meta.url)
  const found = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter(
      (path) =>
        /(?<!\.client)\.tsx?$/.test(path) && /HttpOnly|SameSite/.test(readFileSync(new URL(path, source), 'utf8')),
    )
  expect(found.sort()).toEqual(['http/caller.ts', 'sandbox/onion/guard.ts'])
})
