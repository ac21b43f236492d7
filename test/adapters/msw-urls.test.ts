import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { handlers } from '../../adapters/msw.js'
import { unhandled } from '../support/unhandled.js'

/** In a process of its own: after MSW 3 has answered over https, AES of WebCrypto ends a process of Node. */

const server = setupServer()
beforeAll(() => server.listen(unhandled('error')))
afterAll(() => server.close())

test('handlers answer requests at or below the base URL, and no others', async () => {
  const seen: string[] = []
  server.use(http.all('*', () => HttpResponse.text('not the service')))
  server.use(
    ...handlers({
      baseUrl: 'https://pay.example.test/money',
      respond: async (request, source) => {
        seen.push(`${request.method} ${source?.url}`)
        return new Response('the service')
      },
    }),
  )
  const at = async (url: string, method = 'GET') => (await fetch(url, { method })).text()
  const base = 'https://pay.example.test/money'
  for (const url of [
    base,
    `${base}/`,
    `${base}?a=1`,
    `${base}/v4/dq?a=/money/#top`,
    'HTTPS://PAY.example.test:443/money/x',
  ])
    expect([url, await at(url)]).toEqual([url, 'the service'])
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])
    expect([method, await at(`${base}/x`, method)]).toEqual([method, 'the service'])
  // MSW 3 sees what is sent, and a fragment is not.
  expect(seen).toContainEqual(expect.stringMatching(/^GET .*\/v4\/dq\?a=\/money\/(#top)?$/))
  expect(seen).toContain(`PROPFIND ${base}/x`)
  for (const url of [
    'https://pay.example.test/',
    'https://pay.example.test/moneybox',
    'https://pay.example.test/Money/x',
    'https://pay.example.test/x/money',
    'http://pay.example.test/money',
    'https://pay.example.test:8443/money',
    'https://payxexample.test/money',
    'https://shop.example.test/money',
  ])
    expect([url, await at(url)]).toEqual([url, 'not the service'])
})
