import { createLocalJWKSet, jwtVerify } from 'jose'
import { expect, it } from 'vitest'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { asClient, headerOf, newAgent, newConfidentialApp, refreshWith, worksAt } from '../support/scenes/oidc.js'

const baseUrl = 'http://127.0.0.1:4242'

function start(encryptionKey: string) {
  const service = createService({ baseUrl, sandbox: true, encryptionKey: encryptionKey.repeat(64) })
  return { service, call: caller({ url: baseUrl, fetch: (request) => service.fetch(request) }) }
}

it('a state restored under another encryption key keeps issued tokens valid, and signs with a new key', async () => {
  const [first, second] = [start('a'), start('b')]
  const app = await newConfidentialApp(first.call)
  const agent = await newAgent(first.call, { app })
  await second.service.sandbox.restore(await first.service.sandbox.snapshot())
  const { call } = second

  expect(await worksAt(call, agent.accessToken)).toBe(true)
  const next = (await refreshWith(call, app, agent.refreshToken)).body
  expect(headerOf(next.id_token).kid).not.toBe(headerOf(agent.idToken).kid)
  const keys = createLocalJWKSet((await call('GET', '/v4/oidc/jwks')).body)
  for (const token of [agent.idToken, next.id_token]) await jwtVerify(token, keys, { audience: app.id })

  const shown = (await call('GET', `/v4/oidc/reg/${app.id}`, { token: app.registrationToken })).body
  expect(shown).toEqual({ ...app.body, client_secret: undefined })
  const { body } = await asClient(call, app, 'token/introspection', { token: next.access_token })
  expect(body.active).toBe(true)
})

it('simultaneous first requests make one signing key for each algorithm', async () => {
  const { call } = start('c')
  const sets = await Promise.all(Array.from({ length: 5 }, () => call('GET', '/v4/oidc/jwks')))
  expect(new Set(sets.map(({ text }) => text)).size).toBe(1)
  expect(sets[0]?.body.keys).toHaveLength(2)
})

it('a client that registered when there was only ES256 keeps it, and no other key is made for it', async () => {
  const { service, call } = start('d')
  const app = await newConfidentialApp(call, { id_token_signed_response_alg: undefined })
  expect(app.body.id_token_signed_response_alg).toBe('RS256')
  const state = await service.sandbox.snapshot()
  const older = JSON.parse(JSON.stringify(state))
  for (const client of older.rows.oidc_clients) delete client.metadata.id_token_signed_response_alg
  await service.sandbox.restore(older)

  const shown = (await call('GET', `/v4/oidc/reg/${app.id}`, { token: app.registrationToken })).body
  expect(shown.id_token_signed_response_alg).toBe('ES256')
  const agent = await newAgent(call, { app })
  expect(headerOf(agent.idToken).alg).toBe('ES256')
  expect((await service.sandbox.snapshot()).rows.oidc_keys).toHaveLength(1)
})
