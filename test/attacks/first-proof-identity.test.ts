import { expect, it, vi } from 'vitest'
import { messageIn, send } from '../support/mcp/mcp.js'
import { signInByMail, startProduction } from '../support/production.js'
import {
  type Agent,
  asClient,
  authorization,
  newAgent,
  newConfidentialApp,
  refreshWith,
  returned,
} from '../support/scenes/oidc.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

// Each test asks for many pages or calls.
vi.setConfig({ testTimeout: 60_000 })

/** An app that knew an impostor by a victim's address, and then meets the victim. */

const VICTIM = 'victim@example.test'

const claimsIn = (jwt: string) => JSON.parse(atob((jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')))

async function impostor() {
  const production = startProduction()
  const { call } = production
  const thief = await newSeller(call)
  const fake = await newPayer(call, thief, { email: VICTIM })
  const { session_id: session } = (await call('POST', '/v4/session', { token: fake.token })).body
  return { production, call, thief, session, proves: () => signInByMail(production, VICTIM) }
}

/** Everything that an app reads about a user. */
async function known({ call }: { call: Awaited<ReturnType<typeof impostor>>['call'] }, agent: Agent) {
  const { app, accessToken: token } = agent
  const introspected = (await asClient(call, app, 'token/introspection', { token })).body
  const userinfo = (await call('GET', '/v4/oidc/me', { token })).body
  const wallet = messageIn(await send(call, WALLET, { token })).result.structuredContent
  return { 'id token': claimsIn(agent.idToken), 'access token': claimsIn(token), introspected, userinfo, wallet }
}

const WALLET = { id: 1, method: 'tools/call', params: { name: 'agent_wallet_info', arguments: {} } }

/** What of an app's knowledge may be the same before and after the proof, and why. */
const SAME: Readonly<Record<string, string>> = {
  email: 'It is the address, and `email_verified` says whether it is proven.',
  name: 'It is the address.',
  twin_hostname: 'What others sent to the wallet is in it. A wallet is no person.',
  ...Object.fromEntries(['iss', 'aud', 'client_id', 'scope', 'amr'].map((name) => [name, 'It is not about the user.'])),
  ...Object.fromEntries(['active', 'token_type'].map((name) => [name, 'It is about the token.'])),
  ...Object.fromEntries(
    ['auth_time', 'iat', 'exp', 'updated_at'].map((name) => [name, 'Everything may be in one second.']),
  ),
  ...Object.fromEntries(
    ['balances', 'approval_threshold', 'account', 'choosable'].map((name) => [name, 'It may be empty.']),
  ),
}

it('an app takes the owner of an address for someone else than the impostor who used it', async () => {
  const scene = await impostor()
  const { call, session, proves } = scene
  const app = await newConfidentialApp(call)
  const before = await known(scene, await newAgent(call, { app, session }))
  const owner = await proves()
  const agent = await newAgent(call, { app, session: owner })
  const after = await known(scene, agent)
  const survives = Object.entries(after).flatMap(([from, now]) =>
    Object.keys(now).filter((name) => {
      const was = before[from as keyof typeof before]
      return JSON.stringify(was[name]) === JSON.stringify(now[name]) && !(name in SAME)
    }),
  )
  expect(survives).toEqual([])
  const subjects = [after['id token'], after['access token'], after.introspected, after.userinfo].map(({ sub }) => sub)
  expect(new Set(subjects).size).toBe(1)
  expect(subjects[0]).not.toBe(before['id token'].sub)
  const unnamed = await newAgent(call, { session: owner, scope: 'openid profile twin' })
  expect((await call('GET', '/v4/oidc/me', { token: unnamed.accessToken })).body.name).toBe(`User ${subjects[0]}`)
  const refreshed = (await refreshWith(call, app, agent.refreshToken)).body
  expect(claimsIn(refreshed.id_token).sub).toBe(subjects[0])
})

it('an id token of the impostor is no hint of the owner', async () => {
  const { call, session, proves } = await impostor()
  const app = await newConfidentialApp(call)
  const { idToken } = await newAgent(call, { app, session })
  const owner = await proves()
  const asked = await call('GET', authorization(app, { id_token_hint: idToken, prompt: 'none' }), { session: owner })
  expect(returned(asked).error).toBe('invalid_request')
  const path = `/v4/oidc/session/end?${new URLSearchParams({ id_token_hint: idToken })}`
  expect((await call('GET', path, { session: owner, headers: { accept: 'text/html' } })).status).toBe(400)
  const { idToken: own } = await newAgent(call, { app, session: owner })
  const known = await call('GET', authorization(app, { id_token_hint: own, prompt: 'none' }), { session: owner })
  expect(known.headers.get('location')).toContain('/interaction/')
})

it('a page learns nobody from the session of an address that nobody has proven', async () => {
  const { call, thief, session, proves } = await impostor()
  const { hash } = await newCommodity(call, thief)
  const body = { hash, origin: 'https://shop.example.test' }
  const userOf = async (own: string) => {
    const page = (await call('POST', '/v4/session/page', { session: own, body })).body.session_id
    return (await call('GET', '/v4/session', { session: page })).body.user
  }
  expect(await userOf(session)).toBeNull()
  expect((await userOf(await proves())).email).toBe(VICTIM)
})

it('users whom nobody else created keep the id as their subject', async () => {
  const { call, production } = await impostor()
  const session = await signInByMail(production, 'ada@example.test')
  const { id } = (await call('GET', '/v4/session', { session })).body.user
  expect(claimsIn((await newAgent(call, { session })).idToken).sub).toBe(String(id))
})
