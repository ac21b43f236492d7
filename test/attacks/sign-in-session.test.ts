import { afterEach, describe, expect, it } from 'vitest'
import { inProcess } from '../runtimes/in-process.js'
import type { Running } from '../runtimes/runtime.js'
import { caller } from '../support/api.js'
import { advance, expectProblem, stopClock } from '../support/scenes/market.js'
import { askCode, mailedCode, newGuest, verify, wrongCode } from '../support/scenes/sign-in.js'
import { newPayer, newSeller, newSession } from '../support/scenes/world.js'

const EMAIL = 'ada@example.test'

const open: Running[] = []
afterEach(async () => {
  for (const running of open.splice(0)) await running.close()
})

async function started() {
  const running = await inProcess.start({})
  open.push(running)
  return { ...running, call: caller(running) }
}

describe('a code without the session that requested it', () => {
  it('is not checked: right and wrong codes get the same answer, which says what to send', async () => {
    const { call } = await started()
    await newPayer(call, await newSeller(call), { email: EMAIL })
    await askCode(call, await newGuest(call), EMAIL)
    const code = await mailedCode(call, EMAIL)
    const tries = []
    for (const [email, tried] of [
      [EMAIL, code],
      [EMAIL, wrongCode(code)],
      ['nobody@example.test', code],
    ] as const) {
      tries.push(await call('POST', '/v4/session/verify', { body: { email, code: tried } }))
      tries.push(await verify(call, await newGuest(call), email, tried))
    }
    for (const answer of tries) expectProblem(answer, 401, 'session_required')
    expect(new Set(tries.map(({ text }) => text)).size).toBe(1)
    expect(tries[0]?.body.error).toContain('X-Session-ID')
  })

  it('neither uses up a try of the user nor records an event', async () => {
    const { call } = await started()
    const { token } = await newPayer(call, await newSeller(call), { email: EMAIL })
    const session = await newGuest(call)
    await askCode(call, session, EMAIL)
    const code = await mailedCode(call, EMAIL)
    for (let n = 0; n < 10; n++)
      expectProblem(await verify(call, await newGuest(call), EMAIL, wrongCode(code)), 401, 'session_required')
    expect((await call('GET', '/v4/events?type=sign_in_failed', { token })).body.events).toEqual([])
    expect((await verify(call, session, EMAIL, code)).status).toBe(200)
  })

  it('does not work in a session that requested a code for another address', async () => {
    const { call } = await started()
    const [own, theirs] = [await newGuest(call), await newGuest(call)]
    await askCode(call, own, EMAIL)
    await askCode(call, theirs, 'eve@example.test')
    expectProblem(await verify(call, theirs, EMAIL, await mailedCode(call, EMAIL)), 401, 'session_required')
  })

  it('from a page of another origin, without a cookie, gets an answer that says what to send', async () => {
    const { call } = await started()
    const asked = await call('POST', '/v4/session/code', {
      body: { email: EMAIL },
      headers: { origin: 'https://shop.example.test' },
    })
    const code = await mailedCode(call, EMAIL)
    const headers = { origin: 'https://shop.example.test' }
    const body = { email: EMAIL, code }
    expectProblem(await call('POST', '/v4/session/verify', { body, headers }), 401, 'session_required')
    const session = asked.headers.get('x-session-id') as string
    expect((await call('POST', '/v4/session/verify', { body, headers, session })).status).toBe(200)
  })
})

describe('the id that a session had before sign-in', () => {
  it('signs nobody in, and the answer says that the id has changed', async () => {
    const { call, state } = await started()
    const before = await newGuest(call)
    await askCode(call, before, EMAIL)
    const { body } = await verify(call, before, EMAIL, await mailedCode(call, EMAIL))
    const refused = await call('GET', '/v4/twins', { session: before })
    expectProblem(refused, 401, 'sign_in_required')
    expect(refused.body.error).toContain('The id of this session changed when its user signed in')
    expect(refused.text).not.toContain(body.session_id)
    expect(JSON.stringify(await state())).not.toContain(before)
    const never = await call('GET', '/v4/twins', { session: await newGuest(call) })
    expect(never.body.error).not.toContain('changed')
  })

  it('is unknown after the session is signed out or expired', async () => {
    const { call } = await started()
    await stopClock(call)
    const signIn = async () => {
      const before = await newGuest(call)
      await askCode(call, before, EMAIL)
      return { before, ...(await verify(call, before, EMAIL, await mailedCode(call, EMAIL))).body }
    }
    const told = async (session: string) => (await call('GET', '/v4/twins', { session })).body.error.includes('changed')
    const [first, second] = [await signIn(), await signIn()]
    expect([await told(first.before), await told(second.before)]).toEqual([true, true])
    await call('DELETE', '/v4/session', { session: first.session_id })
    expect([await told(first.before), await told(second.before)]).toEqual([false, true])
    await advance(call, '24h')
    expect(await told(second.before)).toBe(false)
  })

  it('does not lead to the new session when the user signs in as someone else', async () => {
    const { call } = await started()
    const first = await newSession(call, EMAIL)
    await askCode(call, first, 'eve@example.test')
    const eve = await verify(call, first, 'eve@example.test', await mailedCode(call, 'eve@example.test'))
    const refused = await call('GET', '/v4/twins', { session: first })
    expectProblem(refused, 401, 'sign_in_required')
    expect(refused.headers.get('x-session-id')).not.toBe(eve.body.session_id)
  })
})
