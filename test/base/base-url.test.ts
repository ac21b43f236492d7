import { expect, test } from 'vitest'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

const BASE = 'https://pay.example.test/money'

/** A service below a path, called at `url`. */
function below(url = BASE) {
  const service = createService({ baseUrl: `${BASE}/`, sandbox: true })
  const fetch = (request: Request) => service.fetch(request)
  return { service, fetch, call: caller({ url, fetch }) }
}

test('a service answers below the path of its base URL, and also when a proxy removed that path', async () => {
  for (const url of [BASE, 'https://pay.example.test']) {
    const { service, call } = below(url)
    expect(service.baseUrl).toBe(BASE)
    const seller = await newSeller(call)
    const { hash } = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 1 })
    expect((await call('POST', `/v4/payment/${hash}?x=/money/`, { token: payer.token })).status).toBe(202)
    expect((await call('GET', '/nothing')).status).toBe(404)
    await service.close()
  }
})

test('addresses that a service gives for itself use its base URL', async () => {
  const { service, call, fetch } = below()
  expect((await call('GET', '/v4/openapi.json')).body.servers).toEqual([{ url: BASE }])
  const { hash } = await newCommodity(call, await newSeller(call))
  expect((await call('GET', `/v4/commodity/${hash}?embed=true`)).body.embed).toContain(`src="${BASE}/v4/embed/${hash}"`)
  // The cookie's path keeps it apart from other services on this host.
  const issued = await fetch(new Request(`${BASE}/v4/session`))
  expect(issued.headers.get('set-cookie')).toMatch(/; Path=\/money; HttpOnly; SameSite=Lax; Secure$/)
  expect((await fetch(new Request(BASE))).status).toBe(404)
  expect((await fetch(new Request('https://pay.example.test/moneybox/v4/dq'))).status).toBe(404)
  await service.close()
})

test('a runtime can pass the real URL and headers of a request', async () => {
  const { service, fetch } = below()
  const session_id = (await (await fetch(new Request(`${BASE}/v4/session`))).json()).session_id
  const request = new Request('https://elsewhere.example.test/v4/session')
  const headers = new Headers({ cookie: `session_id=${session_id}` })
  const answer = await service.respond(request, { url: `${BASE}/v4/session`, headers })
  expect((await answer.json()).session_id).toBe(session_id)
  await service.close()
})

test('createService refuses an invalid base URL', () => {
  for (const baseUrl of [
    'pay.example.test',
    'ftp://pay.example.test',
    'https://pay.example.test/?a=1',
    'https://a.test/#b',
  ])
    expect(() => createService({ baseUrl })).toThrow(/^baseUrl must be an http or https URL/)
})
