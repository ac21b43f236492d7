import { afterEach, describe, expect, it } from 'vitest'
import { createService, type Service } from '../../src/index.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { expectProblem, stopClock } from '../support/scenes/market.js'
import { authorization, CALLBACK, newApp } from '../support/scenes/oidc.js'

/** What a stranger makes the service fetch and store by naming documents of apps. */

const [ONE, OTHER] = ['8.8.8.8', '9.9.9.9']
const open: Service[] = []
afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

async function start(newPerDay = 1000) {
  const fetched: string[] = []
  const service = createService({
    ...{ sandbox: true, allowUpstream: () => true, limits: { newPerDay }, log: { error: () => {} } },
    upstream: {
      async fetch({ url }) {
        fetched.push(String(url))
        if (String(url).includes('bogus')) return new Response('gone', { status: 410 })
        return Response.json({ client_id: String(url), redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' })
      },
    },
  })
  open.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  await stopClock(call)
  const from = (peerAddress: string): Call =>
    caller({ url: service.baseUrl, fetch: (request) => service.respond(request, { peerAddress }) })
  const stored = async (name: string) => ((await service.sandbox.snapshot()).rows[name] ?? []).length
  return { call, from, fetched, stored }
}

const ask = (call: Call, id: string): Promise<Answer> => call('GET', authorization({ id }))

describe('documents of apps', () => {
  it('are fetched from one host twenty times a minute for one network, whatever the port', async () => {
    const { from, fetched } = await start()
    for (let port = 1; port <= 25; port++) await ask(from(ONE), `https://victim.example.test:${port + 8000}/bogus`)
    expect(fetched).toHaveLength(20)
  })

  it('are fetched from any hosts sixty times a minute for one network', async () => {
    const { from, fetched } = await start()
    for (let n = 0; n < 65; n++) await ask(from(ONE), `https://h${n}.evil.example.test/bogus`)
    expect(fetched).toHaveLength(60)
    expect((await ask(from(OTHER), 'https://app.example.test/client')).status).toBe(303)
  })

  it('are fetched from one host two hundred times a minute for all', async () => {
    const { from, fetched } = await start()
    for (let n = 0; n < 11; n++)
      for (let path = 0; path < 20; path++) await ask(from(`8.8.${n}.8`), `https://victim.example.test/bogus${path}`)
    expect(fetched).toHaveLength(200)
  })

  it('of a shared host are fetched for others, while someone asks for bogus ones', async () => {
    const { from } = await start()
    for (let n = 0; n < 25; n++) await ask(from(ONE), `https://shared.example.test/bogus${n}`)
    expectProblem(await ask(from(ONE), 'https://shared.example.test/app'), 429, 'too_many_fetches')
    expect((await ask(from(OTHER), 'https://shared.example.test/app')).status).toBe(303)
    // It is known now.
    expect((await ask(from(ONE), 'https://shared.example.test/app')).status).toBe(303)
  })

  it('are stored as often in a day as one network may create apps', async () => {
    const { from, stored } = await start(5)
    for (let n = 0; n < 5; n++) expect((await ask(from(ONE), `https://h${n}.evil.example.test/x`)).status).toBe(303)
    expectProblem(await ask(from(ONE), 'https://h5.evil.example.test/x'), 429, 'too_many_new')
    expect([await stored('oidc_clients'), await stored('oidc_interactions')]).toEqual([5, 5])
    expect((await ask(from(OTHER), 'https://h5.evil.example.test/x')).status).toBe(303)
  })
})

it('requests for authorization are stored as often in a day as one network may create things', async () => {
  const { call, from, stored } = await start(5)
  const { id } = await newApp(call)
  const answers: number[] = []
  for (let n = 0; n < 7; n++) answers.push((await ask(from(ONE), id)).status)
  expect(answers).toEqual([303, 303, 303, 303, 303, 429, 429])
  expect(await stored('oidc_interactions')).toBe(5)
  expect((await ask(from(OTHER), id)).status).toBe(303)
})
