import { expect, it } from 'vitest'
import type { Answer } from '../../../support/api.js'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import { expectProblem } from '../../../support/scenes/market.js'
import { fill, locationOf, newApp, returned, signInAt, startInteraction } from '../../../support/scenes/oidc.js'
import { mailedCode, newGuest } from '../../../support/scenes/sign-in.js'
import { newSession } from '../../../support/scenes/world.js'

const EMAIL = 'ada@example.test'
const html = { accept: 'text/html' }

/** The names of a page's buttons. */
const buttonsOf = ({ text }: Answer): string[] =>
  [...text.matchAll(/<button[^>]*>([^<]*)</g)].map(([, name]) => name ?? '')
const alertOf = ({ text }: Answer): string | undefined => /role="alert"[^>]*>([^<]*)</.exec(text)?.[1]

contract('an interaction belongs to a browser', (start) => {
  it('a different session has to repeat every step', async () => {
    const { call } = await start()
    const path = await startInteraction(call, await newApp(call))
    const guest = await newGuest(call)
    await fill(call, path, guest, { answer: 'continue', email: EMAIL })
    const other = await call('GET', path, { session: await newGuest(call) })
    expect(buttonsOf(other)[0]).toBe('Continue')
    expect(other.text).not.toContain(EMAIL)
    const code = await mailedCode(call, EMAIL)
    const tried = await fill(call, path, await newGuest(call), { answer: 'verify', code })
    expect(tried.headers.get('set-cookie')).toBeNull()
    expect((await fill(call, path, guest, { answer: 'verify', code })).status).toBe(303)
  })

  it('only signed-in users can consent', async () => {
    const { call, state } = await start()
    const path = await startInteraction(call, await newApp(call))
    await signInAt(call, path, EMAIL)
    for (const who of [await newGuest(call), undefined]) {
      const answer = await call('POST', path, { ...(who && { session: who }), form: { answer: 'allow' } })
      expect(locationOf(answer).pathname.endsWith(path)).toBe(true)
    }
    expect((await state()).rows.oidc_connections ?? []).toEqual([])
  })

  it('the session gets a new id, so an id that someone else set is useless', async () => {
    const { call } = await start()
    const path = await startInteraction(call, await newApp(call))
    const known = await newGuest(call)
    const { session } = await signInAt(call, path, EMAIL, known)
    expect(session).not.toBe(known)
    expect((await call('GET', '/v4/session', { session: known })).body.user).toBeNull()
    expect(buttonsOf(await call('GET', path, { session: known }))[0]).toBe('Continue')
  })

  it('a cookie counts only from a page of the service itself: 403 cross_site', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, url, made: app } = await startWith(start, newApp)
    const session = await newSession(call, EMAIL)
    const path = await startInteraction(call, app)
    const cookie = `session_id=${session}`
    const form = { answer: 'allow' }
    for (const origin of ['https://evil.example.test', 'null']) {
      const headers = { cookie, origin }
      expectProblem(await call('POST', path, { form, headers }), 403, 'cross_site')
      const page = await call('POST', path, { form, headers: { ...headers, ...html } })
      expect([page.status, alertOf(page)]).toEqual([403, expect.any(String)])
    }
    expect((await call('GET', '/v4/connections', { session })).body.connections).toEqual([])
    const own = { cookie, origin: new URL(url).origin }
    expect(returned(await call('POST', path, { form, headers: own }))).toHaveProperty('code')
  })

  // No page can leave the origin out.
  it('a cookie without an origin does not count: 403 cross_site', { tags: ['everywhere', 'pages'] }, async () => {
    const { call } = await start()
    const headers = { cookie: `session_id=${await newSession(call, EMAIL)}` }
    const path = await startInteraction(call, await newApp(call))
    expectProblem(await call('POST', path, { form: { answer: 'allow' }, headers }), 403, 'cross_site')
  })
})
