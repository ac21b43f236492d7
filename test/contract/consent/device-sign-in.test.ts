import { expect, it } from 'vitest'
import type { Answer, Call } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newBusiness } from '../../support/scenes/account-changes.js'
import { newAgentShop, requestApproval } from '../../support/scenes/approvals.js'
import { advance, expectProblem } from '../../support/scenes/market.js'
import { newApp, startInteraction } from '../../support/scenes/oidc.js'
import { ask, poll, registerDevice } from '../../support/scenes/second-factor.js'
import { newGuest } from '../../support/scenes/sign-in.js'
import { approveOnPhone, newSeededUser, newSeller, newSession, type Payer } from '../../support/scenes/world.js'

const EMAIL = 'ada+code123456@example.test'
const CODE = '123456'
const html = { accept: 'text/html' }

/** A user with a device, whose code is always the same. */
async function world(start: Start) {
  const shop = await newAgentShop(start, {})
  const { call } = shop
  const sent = await call('POST', '/v4/transfer', { ...shop.payer, body: { address: EMAIL, amount: 1 } })
  const user = await newSeededUser(call, EMAIL)
  await registerDevice(call, user)
  return { ...shop, user, sent }
}

const verify = (call: Call, session: string, request_id?: number): Promise<Answer> =>
  call('POST', '/v4/session/verify', { session, body: { email: EMAIL, code: CODE, request_id } })

/** A guest's right code, in a session of its own. */
async function verified(call: Call): Promise<{ session: string; answer: Answer }> {
  const session = await newGuest(call)
  expect((await call('POST', '/v4/session/code', { session, body: { email: EMAIL } })).status).toBe(202)
  return { session, answer: await verify(call, session) }
}

const reject = (call: Call, { id }: Payer) => call('POST', `/_sandbox/devices/${id}/reject`)

/** Uses up what may be asked of a user by sign-ins. */
async function exhaust(call: Call, user: Payer): Promise<void> {
  for (let n = 0; n < 5; n++) {
    expect((await verified(call)).answer.status).toBe(202)
    await reject(call, user)
  }
}

contract('signing in with a device', (start) => {
  it('POST /v4/session/verify answers 202 with the request, and signs in by its id once it is approved', async () => {
    const { call, user } = await world(start)
    const { session, answer } = await verified(call)
    expect(answer.status).toBe(202)
    expect(answer.body.request).toMatchObject({ status: 'pending', action: 'sign_in', detail: { email: EMAIL } })
    const { id } = answer.body.request
    for (const again of [undefined, id]) expect((await verify(call, session, again)).body.request.id).toBe(id)
    expectProblem(await verify(call, session, id + 1), 400, 'field_invalid')
    expect((await poll(call, user, id)).body.status).toBe('pending')
    await approveOnPhone(call, EMAIL)
    const signedIn = await verify(call, session, id)
    expect([signedIn.status, signedIn.body.user.id]).toEqual([200, user.id])
    expectProblem(await verify(call, session, id), 410, 'code_expired')
  })

  it('is 403 if the device rejects and 410 if nobody answers, and uses up the code', async () => {
    const { call, user } = await world(start)
    const first = await verified(call)
    await reject(call, user)
    expectProblem(await verify(call, first.session, first.answer.body.request.id), 403, 'rejected')
    expectProblem(await verify(call, first.session), 410, 'code_expired')
    const second = await verified(call)
    await advance(call, '2m')
    expectProblem(await verify(call, second.session, second.answer.body.request.id), 410, 'code_expired')
    expectProblem(await verify(call, second.session), 410, 'code_expired')
  })

  it('is refused where too much was asked of the user', async () => {
    const { call, user } = await world(start)
    for (let n = 0; n < 5; n++) await ask(call, user)
    expectProblem((await verified(call)).answer, 429, 'too_many_pending')
    await reject(call, user)
    await exhaust(call, user)
    expectProblem((await verified(call)).answer, 429, 'too_many_mails')
  })
})

/** Pages at which someone signs in, by their addresses. */
const pages: Record<string, (made: Awaited<ReturnType<typeof world>>) => Promise<string>> = {
  async openApproval({ call, agent, item }) {
    const wish = { kind: 'purchase', catalog_item_id: item.id, arguments: { city: 'Oslo' } }
    return `/approvals/${(await requestApproval(call, agent, wish)).body.approval_id}`
  },
  async openCheckout({ call, seller, item }) {
    const body = { catalog_item_id: item.id, arguments: { city: 'Oslo' } }
    return `/checkout/${(await call('POST', '/v4/checkout', { token: seller.token, body })).body.token}`
  },
  async openInvitation({ call }) {
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(EMAIL)}&kind=mail`)).body
    const links: string[] = messages.flatMap(({ links }: { links: string[] }) => links)
    const link = links.find((each) => each.includes('/transfers/')) as string
    return link.slice(link.indexOf('/transfers/'))
  },
  async openAccountChoice({ call }) {
    const { agent } = await newBusiness(call, 'owner@example.test')
    const { url } = (await call('POST', '/v4/agent/account-choice', agent)).body
    return url.slice(url.indexOf('/agents/'))
  },
  readInteraction: async ({ call }) => startInteraction(call, await newApp(call)),
}

const press = (call: Call, path: string, session: string, form: Record<string, string>, headers = {}) =>
  call('POST', path, { session, form, headers })

/** Fills in the code at a page. Gives where it leads. */
async function fillIn(call: Call, path: string) {
  const session = await newGuest(call)
  expect((await press(call, path, session, { answer: 'continue', email: EMAIL })).status).toBe(303)
  const answer = await press(call, path, session, { answer: 'verify', code: CODE })
  const location = answer.headers.get('location') ?? ''
  return { session, answer, next: `${path}${location.includes('?') ? location.slice(location.indexOf('?')) : ''}` }
}

for (const [operation, pathOf] of Object.entries(pages))
  contract(`${operation} for a user with a device`, (start) => {
    it('waits for the device, and continues as the approved session', async () => {
      const made = await world(start)
      const { call, user } = made
      const path = await pathOf(made)
      const { session, answer, next } = await fillIn(call, path)
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([303, null])
      const waits = await call('GET', next, { session, headers: html })
      expect([waits.status, waits.headers.get('refresh')]).toEqual([200, '2'])
      expect(waits.text).toContain('We sent a request to your device.')
      expect((await call('GET', '/v4/session', { session })).body.user).toBeNull()
      await approveOnPhone(call, EMAIL)
      const since = await call('GET', next, { session, headers: html })
      const signedIn = since.headers.get('x-session-id') as string
      expect(since.status).toBe(operation === 'readInteraction' ? 200 : 303)
      expect((await call('GET', '/v4/session', { session: signedIn })).body.user.id).toBe(user.id)
      // What an agent asks is shown to the user whom it asks.
      const status = operation === 'openApproval' ? 404 : 200
      expect((await call('GET', path, { session: signedIn, headers: html })).status).toBe(status)
    })

    it('reports a rejection, and a late approval', async () => {
      const made = await world(start)
      const { call, user } = made
      const path = await pathOf(made)
      const first = await fillIn(call, path)
      await reject(call, user)
      if (operation !== 'readInteraction')
        expectProblem(await call('GET', first.next, { session: first.session }), 403, 'rejected')
      const second = await fillIn(call, operation === 'readInteraction' ? await pathOf(made) : path)
      await advance(call, '2m')
      expectProblem(await call('GET', second.next, { session: second.session }), 410, 'code_expired')
      const third = await call('GET', second.next, { session: second.session, headers: html })
      expect([third.status, third.text]).toEqual([200, expect.stringContaining('Continue')])
    })

    it('is refused where too much was asked of the user', async () => {
      const made = await world(start)
      const { call, user } = made
      const path = await pathOf(made)
      for (let n = 0; n < 5; n++) await ask(call, user)
      expectProblem((await fillIn(call, path)).answer, 429, 'too_many_pending')
      await reject(call, user)
      await exhaust(call, user)
      expectProblem((await fillIn(call, path)).answer, 429, 'too_many_mails')
    })
  })

contract("a session that is already the user's", (start) => {
  it('asks nothing on their device', async () => {
    const { call, made: session } = await startWith(start, newSession, EMAIL)
    await registerDevice(call, { session })
    await call('POST', '/v4/session/code', { session, body: { email: EMAIL } })
    expect((await verify(call, session)).status).toBe(200)
    const stranger = await newSession(call, 'eve@example.test')
    await call('POST', '/v4/session/code', { session: stranger, body: { email: EMAIL } })
    expect((await verify(call, stranger)).status).toBe(202)
    expect(await newSeller(call)).toBeDefined()
  })
})

contract('a sign-in on a page', (start) => {
  it('shows the form again with what was wrong, goes back to the address, and asks on the device once', async () => {
    const made = await world(start)
    const { call } = made
    const path = await (pages.openApproval as (typeof pages)[string])(made)
    const session = await newGuest(call)
    const send = (answer: string, fields = {}) => press(call, path, session, { answer, ...fields }, html)
    const step = async (query: string) => {
      const { text } = await call('GET', `${path}${query}`, { session, headers: html })
      return text.includes('name="code"') ? 'code' : 'email'
    }
    const misspelt = await send('continue', { email: 'ada' })
    expect([misspelt.status, misspelt.text.includes('name="email"')]).toEqual([400, true])
    const noCode = await send('verify', { code: CODE })
    expect([noCode.status, noCode.text.includes('allow cookies')]).toEqual([401, true])
    expect(await step('?step=code')).toBe('email')

    expect((await send('continue', { email: EMAIL })).headers.get('location')).toContain('step=code')
    expect(await step('?step=code')).toBe('code')
    const wrong = await send('verify', { code: '000000' })
    expect([wrong.status, wrong.text.includes('name="code"')]).toEqual([401, true])
    expect((await send('other_email')).headers.get('location')).toContain('step=email')
    expect(await step('?step=email')).toBe('email')

    for (let n = 0; n < 2; n++)
      expect((await send('verify', { code: CODE })).headers.get('location')).toContain('step=device')
    const pushes = (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(EMAIL)}&kind=push`)).body.messages
    expect(pushes.map(({ data }: { data: { action: string } }) => data.action)).toEqual(['sign_in'])
    await advance(call, '10m')
    expect(await step('?step=code')).toBe('email')
  })
})
