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

/** The sources of servers, by their paths. */
const sources = ['src', 'sandbox'].flatMap((folder) => {
  const root = new URL(`../../${folder}/`, import.meta.url)
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /(?<!\.client)\.tsx?$/.test(path))
    .map((path): [path: string, text: string] => [`${folder}/${path}`, readFileSync(new URL(path, root), 'utf8')])
})

test('only these functions write the attributes of cookies', () => {
  const found = sources.filter(([, text]) => /HttpOnly|SameSite/.test(text)).map(([path]) => path)
  expect(found.sort()).toEqual(['src/http/caller.ts', 'src/sandbox/onion/guard.ts'])
})

/** What a Set-Cookie header is set to. */
const SET = /['"]set-cookie['"](?:\] =|:| *,) *(\w+)/gi

test('every cookie that is set comes from these functions', () => {
  const found = sources.flatMap(([, text]) => [...text.matchAll(SET)].map(([, by]) => by))
  expect([...new Set(found)].sort()).toEqual(['controlCookie', 'deviceCookieHeader', 'sessionCookieHeader'])
})
