import { expect, it } from 'vitest'
import type { Answer, Call } from '../../../support/api.js'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { advance, expectProblem, stopClock } from '../../../support/scenes/market.js'
import {
  authorizeApp,
  CALLBACK,
  claimsIn,
  exchangeCode,
  fill,
  locationOf,
  newAgent,
  newApp,
  returned,
  signInAt,
  startInteraction,
} from '../../../support/scenes/oidc.js'
import { answerFromDevice, registerDevice } from '../../../support/scenes/second-factor.js'
import { mailedCode, newGuest, wrongCode } from '../../../support/scenes/sign-in.js'
import { defaultDq, newSession } from '../../../support/scenes/world.js'
import { putIntoState } from '../../../support/storage/older-state.js'

const EMAIL = 'ada@example.test'
const html = { accept: 'text/html' }

/** The names of a page's buttons. */
const buttonsOf = ({ text }: Answer): string[] =>
  [...text.matchAll(/<button[^>]*>([^<]*)</g)].map(([, name]) => name ?? '')
const alertOf = ({ text }: Answer): string | undefined => /role="alert"[^>]*>([^<]*)</.exec(text)?.[1]

/** An account whose owning user is EMAIL. */
async function newOwnAccount(call: Call, email = EMAIL): Promise<number> {
  return (await call('POST', '/v4/account/register', { body: { dq: await defaultDq(call), email } })).body.account.id
}

contract('an interaction', (start) => {
  it('goes from email to code to consent and back to the app', async () => {
    const { call, url, made: app } = await startWith(start, newApp)
    const path = await startInteraction(call, app)
    const guest = await newGuest(call)

    const first = await call('GET', path, { session: guest })
    expect(first.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(buttonsOf(first)).toEqual(['Continue', 'Cancel'])
    expect(first.text).toContain('Errand Runner')
    expect(first.text).toContain('app.example.test')
    const mailed = await fill(call, path, guest, { answer: 'continue', email: ` ${EMAIL.toUpperCase()} ` })
    expect(locationOf(mailed).href).toBe(url + path)

    const second = await call('GET', path, { session: guest })
    expect(buttonsOf(second)).toEqual(['Verify', 'Cancel', 'Send a new code', 'Use another email'])
    const verified = await fill(call, path, guest, { answer: 'verify', code: await mailedCode(call, EMAIL) })
    const session = verified.headers.get('x-session-id') as string
    expect(verified.headers.get('set-cookie')).toContain(`session_id=${session};`)

    const third = await call('GET', path, { session })
    expect(buttonsOf(third)).toEqual(['Not you?', 'Allow', 'Deny'])
    expect(third.text).toContain(`Signed in as ${EMAIL}`)
    const allowed = await fill(call, path, session, { answer: 'allow' })
    expect(locationOf(allowed).href.startsWith(`${CALLBACK}?`)).toBe(true)
    expect(returned(allowed)).toEqual({ code: expect.any(String), state: 'a state', iss: `${url}/v4/oidc` })
    expectProblem(await call('GET', path, { session }), 410, 'interaction_expired')
  })

  it('consent says what an app may do with the wallets, if the app asks for them', async () => {
    const { call, made: session } = await startWith(start, newSession, EMAIL)
    const asked = async (scope: string | undefined) => {
      const path = await startInteraction(call, await newApp(call), { scope })
      const { text } = await call('GET', path, { session, headers: html })
      return [...text.matchAll(/<li>([^<]*)<\/li>/g)].map(([, said]) => said)
    }
    const wallets = [
      'See your wallets, your purchases and what they delivered',
      'Hold the key of the wallet that your agents pay from',
      'Pay from that wallet up to the amount that you set. At first this is 0',
      'Ask you to approve everything else',
    ]
    expect(await asked('twin')).toEqual(wallets)
    expect(await asked('openid')).toEqual(['Recognize you each time'])
    expect(await asked(undefined)).toEqual(expect.arrayContaining(wallets))
  })

  it('reveals hidden characters in the name of an app', { tags: 'everywhere' }, async () => {
    const { call, made: session } = await startWith(start, newSession, EMAIL)
    const path = await startInteraction(call, await newApp(call, { client_name: 'Errand rennur' }))
    await putIntoState(call, 'Errand rennur', 'Errand\u202erennur')
    const { text } = await call('GET', path, { session, headers: html })
    expect(text).toContain('Connect “Errand⟨U+202E⟩rennur”')
  })

  it.each(['cancel', 'deny'])('%s goes back with access_denied, at any step', async (answer) => {
    const { call, url, made: app } = await startWith(start, newApp)
    const session = await newSession(call, EMAIL)
    for (const who of [await newGuest(call), session]) {
      const path = await startInteraction(call, app)
      const denied = await fill(call, path, who, { answer })
      expect(returned(denied)).toEqual({ error: 'access_denied', state: 'a state', iss: `${url}/v4/oidc` })
      expectProblem(await fill(call, path, who, { answer }), 410, 'interaction_expired')
    }
    expect((await call('GET', '/v4/connections', { session })).body.connections).toEqual([])
  })

  it('lasts an hour', async () => {
    const { call } = await start()
    await stopClock(call)
    const path = await startInteraction(call, await newApp(call))
    await advance(call, '59m59s')
    expect((await call('GET', path)).status).toBe(200)
    await advance(call, '1s')
    for (const answer of [await call('GET', path), await call('POST', path, { form: { answer: 'cancel' } })])
      expectProblem(answer, 410, 'interaction_expired')
    const page = await call('GET', path, { headers: html })
    expect([page.status, alertOf(page)]).toEqual([410, expect.stringContaining('expired')])
  })

  it('an invalid id is 404 not_found', async () => {
    const { call } = await start()
    const path = '/v4/oidc/interaction/no.name'
    for (const answer of [await call('GET', path), await call('POST', path, { form: { answer: 'cancel' } })])
      expectProblem(answer, 404, 'not_found')
    expect(alertOf(await call('GET', path, { headers: html }))).toEqual(expect.any(String))
  })

  it('abandoned interactions do not pile up', async () => {
    const { call, state } = await start()
    await stopClock(call)
    const app = await newApp(call)
    for (let i = 0; i < 4; i++) await startInteraction(call, app)
    await advance(call, '3h')
    await startInteraction(call, app)
    expect((await state()).rows.oidc_interactions).toHaveLength(1)
  })

  it('reports an invalid address, and fills it in again', async () => {
    const { call } = await start()
    const path = await startInteraction(call, await newApp(call))
    for (const email of ['', 'ada', '<b>']) {
      const form = { answer: 'continue', email }
      expectProblem(await call('POST', path, { form }), 400, 'field_invalid')
      const page = await call('POST', path, { form, headers: html })
      expect([page.status, alertOf(page)]).toEqual([400, 'Enter an email address, such as ada@example.test.'])
      expect(page.text).toContain(email === '' ? 'value autocomplete' : `value="${email.replace('<', '&lt;')}"`)
    }
    expectProblem(await call('POST', path, { form: { answer: 'continue' } }), 400, 'field_invalid')
    expectProblem(await call('POST', path, { form: { answer: 'nonsense' } }), 400, 'field_invalid')
    expect((await call('GET', '/_sandbox/outbox')).body.messages).toEqual([])
  })

  it('reports a wrong code five times, and then sends a new one on request', async () => {
    const { call } = await start()
    await stopClock(call)
    const path = await startInteraction(call, await newApp(call))
    const guest = await newGuest(call)
    await fill(call, path, guest, { answer: 'continue', email: EMAIL })
    const code = await mailedCode(call, EMAIL)
    const wrong = { answer: 'verify', code: wrongCode(code) }
    for (let i = 0; i < 4; i++) expectProblem(await fill(call, path, guest, wrong), 401, 'code_wrong')
    const page = await call('POST', path, { session: guest, form: wrong, headers: html })
    expect([page.status, alertOf(page)]).toEqual([401, 'The code is wrong.'])
    expect(buttonsOf(page)[0]).toBe('Verify')
    const refused = await fill(call, path, guest, { answer: 'verify', code })
    expectProblem(refused, 429, 'too_many_tries')
    expect(refused.headers.get('retry-after')).toBe('600')
    await fill(call, path, guest, { answer: 'resend' })
    const verified = await fill(call, path, guest, { answer: 'verify', code: await mailedCode(call, EMAIL) })
    expect(verified.status).toBe(303)
  })

  it('reports an expired code', async () => {
    const { call } = await start()
    await stopClock(call)
    const path = await startInteraction(call, await newApp(call))
    const guest = await newGuest(call)
    await fill(call, path, guest, { answer: 'continue', email: EMAIL })
    const form = { answer: 'verify', code: await mailedCode(call, EMAIL) }
    await advance(call, '10m')
    expectProblem(await fill(call, path, guest, form), 410, 'code_expired')
  })

  it('refuses the sixth code, and says when to retry', async () => {
    const { call } = await start()
    await stopClock(call)
    const path = await startInteraction(call, await newApp(call))
    const guest = await newGuest(call)
    await fill(call, path, guest, { answer: 'continue', email: EMAIL })
    for (let i = 0; i < 4; i++) await fill(call, path, guest, { answer: 'resend' })
    const refused = await fill(call, path, guest, { answer: 'resend' })
    expectProblem(refused, 429, 'too_many_codes')
    const page = await call('POST', path, { session: guest, form: { answer: 'resend' }, headers: html })
    expect(page.status).toBe(429)
    for (const { headers } of [refused, page]) expect(headers.get('retry-after')).toBe('900')
  })

  it('lets the user change the email and sign in as a different user', async () => {
    const { call } = await start()
    const path = await startInteraction(call, await newApp(call))
    const guest = await newGuest(call)
    await fill(call, path, guest, { answer: 'continue', email: EMAIL })
    await fill(call, path, guest, { answer: 'other_email' })
    expect(buttonsOf(await call('GET', path, { session: guest }))[0]).toBe('Continue')
    const { session } = await signInAt(call, path, EMAIL, guest)
    await fill(call, path, session, { answer: 'switch' })
    expect(buttonsOf(await call('GET', path, { session }))[0]).toBe('Continue')
    const other = await signInAt(call, path, 'eve@example.test', session)
    expect((await call('GET', path, { session: other.session })).text).toContain('Signed in as eve@example.test')
  })

  it("says in plain words what the app may do, and escapes the app's own texts", async () => {
    const { call, made: app } = await startWith(start, newApp, {
      client_name: '<script>alert(1)</script>',
      redirect_uris: ['com.example.app:/cb'],
    })
    const request = { redirect_uri: 'com.example.app:/cb', scope: 'openid email' }
    const path = await startInteraction(call, app, request)
    const { text, headers } = await call('GET', path, { session: await newSession(call, EMAIL) })
    expect(text).toContain('See your email address')
    expect(text).not.toContain('See your name')
    expect(text).toContain('&lt;script>')
    expect(text).not.toContain('<script')
    expect(text).toContain('an app on this device (com.example.app)')
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("form-action 'self' https: http: com.example.app:")
  })
})

contract('the business account of a connection', (start) => {
  const accountOf = async (call: Call, token: string) => (await call('GET', '/v4/agent/account', { token })).body

  it("is one of the user's accounts, or none", async () => {
    const { call, made: id } = await startWith(start, newOwnAccount)
    await newOwnAccount(call, 'eve@example.test')
    const session = await newSession(call, EMAIL)
    const app = await newApp(call)
    const path = await startInteraction(call, app)
    const page = await call('GET', path, { session })
    expect([...page.text.matchAll(/name="account" value="(\w+)"/g)].map(([, value]) => value)).toEqual([
      'none',
      String(id),
    ])
    const granted = await newAgent(call, { app, session, account: String(id) })
    expect(await accountOf(call, granted.accessToken)).toEqual({ account: { id, name: null }, choosable: true })
    const { connections } = (await call('GET', '/v4/connections', { session })).body
    expect(connections[0].account_id).toBe(id)
  })

  it('can be changed with prompt=consent, which moves every token of the connection', async () => {
    const { call, made: id } = await startWith(start, newOwnAccount)
    const agent = await newAgent(call, { account: String(id) })
    const path = await startInteraction(call, agent.app, { prompt: 'consent' })
    const page = await call('GET', path, agent)
    expect(page.text).toMatch(new RegExp(`value="${id}"[^>]*checked|checked[^>]*value="${id}"`))
    await authorizeApp(call, agent.app, { session: agent.session, prompt: 'consent', account: 'none' })
    expect(await accountOf(call, agent.accessToken)).toEqual({ account: null, choosable: true })
  })

  it('is null, without a choice, for a user without accounts', async () => {
    const {
      call,
      made: { accessToken },
    } = await startWith(start, newAgent)
    expect(await accountOf(call, accessToken)).toEqual({ account: null, choosable: false })
  })

  it("cannot be someone else's account: 400 field_invalid, and nothing is allowed", async () => {
    const { call } = await start()
    await newOwnAccount(call)
    const other = await newOwnAccount(call, 'eve@example.test')
    const session = await newSession(call, EMAIL)
    const path = await startInteraction(call, await newApp(call))
    for (const account of [String(other), '999', '', 'all'])
      expectProblem(await fill(call, path, session, { answer: 'allow', account }), 400, 'field_invalid')
    expect((await call('GET', '/v4/connections', { session })).body.connections).toEqual([])
    const page = await call('POST', path, { session, form: { answer: 'allow', account: '999' }, headers: html })
    expect(buttonsOf(page)).toContain('Allow')
  })
})

contract('the second factor of a connection', (start) => {
  /** A signed-in user with a device, and an interaction that waits for it. */
  async function waiting(call: Call) {
    const owner = await newSession(call, EMAIL)
    await registerDevice(call, { session: owner })
    const app = await newApp(call)
    const path = await startInteraction(call, app)
    const { session } = await signInAt(call, path, EMAIL)
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${EMAIL}&kind=push`)).body
    const id = Number(messages[0].data?.authentication_request_id ?? /\d+/.exec(messages[0].text)?.[0])
    return { owner, app, path, session, id }
  }

  it("asks the user's device before consent, and the page reloads by itself", async () => {
    const { call } = await start()
    const { owner, app, path, session, id } = await waiting(call)
    const page = await call('GET', path, { session })
    expect(buttonsOf(page)).toEqual(['Cancel'])
    expect(page.headers.get('refresh')).toBe('2')
    expect(await fill(call, path, session, { answer: 'allow' })).toMatchObject({ status: 303 })
    expect((await call('GET', '/v4/connections', { session: owner })).body.connections).toEqual([])
    expect((await answerFromDevice(call, { session: owner }, { id })).status).toBe(200)
    const consent = await call('GET', path, { session })
    expect(buttonsOf(consent)).toContain('Allow')
    const signedIn = consent.headers.get('x-session-id') as string
    expect(signedIn).not.toBe(session)
    const { code } = returned(await fill(call, path, signedIn, { answer: 'allow' }))
    const { body } = await exchangeCode(call, app, code as string)
    expect(claimsIn(body.id_token).amr).toEqual(['otp', 'mfa'])
  })

  it('redirects back with access_denied after a rejection', async () => {
    const { call } = await start()
    const { owner, path, session, id } = await waiting(call)
    await answerFromDevice(call, { session: owner }, { id, verb: 'reject' })
    expect(returned(await call('GET', path, { session }))).toMatchObject({ error: 'access_denied' })
  })

  it('can be requested again after a timeout', async () => {
    const { call } = await start()
    await stopClock(call)
    const { app, owner: session } = await waiting(call)
    const path = await startInteraction(call, app)
    expect(buttonsOf(await call('GET', path, { session }))).toEqual(['Cancel'])
    await advance(call, '2m')
    expect(buttonsOf(await call('GET', path, { session }))).toEqual(['Continue', 'Cancel'])
    expect((await fill(call, path, session, { answer: 'ask_again' })).status).toBe(303)
    expect(buttonsOf(await call('GET', path, { session }))).toEqual(['Cancel'])
  })

  it('is refused while too many are pending: 429 too_many_pending', async () => {
    const { call } = await start()
    const { owner, app } = await waiting(call)
    const session = owner
    const body = { action: 'transfer', detail: {} }
    for (let i = 0; i < 4; i++) await call('POST', '/v4/authentication-requests', { session: owner, body })
    const path = await startInteraction(call, app)
    expectProblem(await call('GET', path, { session }), 429, 'too_many_pending')
    const page = await call('GET', path, { session, headers: html })
    expect([page.status, alertOf(page)]).toEqual([429, expect.any(String)])
    expectProblem(await fill(call, path, session, { answer: 'allow' }), 429, 'too_many_pending')
    await advance(call, '2m')
    await call('POST', '/v4/authentication-requests', { session: owner, body })
    expectProblem(await call('GET', path, { session }), 429, 'too_many_mails')
    expectProblem(await fill(call, path, session, { answer: 'allow' }), 429, 'too_many_mails')
  })
})
