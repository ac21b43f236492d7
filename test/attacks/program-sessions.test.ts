import { expect, it } from 'vitest'
import type { Call } from '../support/api.js'
import { attacked } from '../support/scenes/attacked.js'
import { expectProblem } from '../support/scenes/market.js'
import {
  authorizeApp,
  claimsIn,
  exchangeCode,
  fill,
  newApp,
  returned,
  startInteraction,
} from '../support/scenes/oidc.js'
import { registerDevice } from '../support/scenes/second-factor.js'
import { askCode, mailedCode, verify } from '../support/scenes/sign-in.js'
import { newReader, newSeller, newSession, type Payer } from '../support/scenes/world.js'

/**
 * A program makes a session with a stolen access token. Nobody signed in to it, so it is no sign-in of its user, at any door
 * that asks for one.
 */

const startService = attacked()
const EMAIL = 'ada@example.test'

interface Scene {
  readonly call: Call
  readonly user: Payer
  /** Made by a program. */
  readonly session: string
}

async function start(): Promise<Scene> {
  const { call } = await startService()
  const user = await newReader(call, await newSeller(call), { email: EMAIL })
  const { session_id: session } = (await call('POST', '/v4/session', { token: user.token })).body
  return { call, user, session }
}

it.each<[door: string, refused: (scene: Scene) => Promise<void>]>([
  [
    'the device of a user is asked before a code signs in',
    async ({ call, user, session }) => {
      await registerDevice(call, { token: user.token })
      await askCode(call, session, EMAIL)
      expect((await verify(call, session, EMAIL, await mailedCode(call, EMAIL))).status).toBe(202)
    },
  ],
  [
    'an id token names no code that was entered',
    async ({ call, session }) => {
      const app = await newApp(call)
      const { code } = await authorizeApp(call, app, { session })
      expect(claimsIn((await exchangeCode(call, app, code)).body.id_token).amr).toEqual([])
    },
  ],
  [
    'an app that asks for a recent sign-in gets no code, however young the session is',
    async ({ call, session }) => {
      const path = await startInteraction(call, await newApp(call), { max_age: '3600' })
      expect((await call('GET', path, { session })).text).toContain('>Continue<')
    },
  ],
])('%s', (_, refused) => start().then(refused))

it('a person who signs in to such a session goes on', async () => {
  const { call, session } = await start()
  const path = await startInteraction(call, await newApp(call), { max_age: '3600' })
  await fill(call, path, session, { answer: 'continue', email: EMAIL })
  const code = await mailedCode(call, EMAIL)
  const signedIn = await fill(call, path, session, { answer: 'verify', code })
  const own = signedIn.headers.get('x-session-id') as string
  expect(own).not.toBe(session)
  expect(returned(await fill(call, path, own, { answer: 'allow', account: 'none' }))).toHaveProperty('code')
})

it('a session that a person signed in to asks no device for a second code', async () => {
  const { call, user } = await start()
  const session = await newSession(call, EMAIL)
  await registerDevice(call, { token: user.token })
  await askCode(call, session, EMAIL)
  const again = await verify(call, session, EMAIL, await mailedCode(call, EMAIL))
  expect(again.status).toBe(200)
  expectProblem(await call('GET', '/v4/payments', { session }), 401, 'sign_in_required')
})
