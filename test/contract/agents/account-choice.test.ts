import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newBusiness, newOwnAccount, pathOf } from '../../support/scenes/account-changes.js'
import { advance, expectProblem, stopClock } from '../../support/scenes/market.js'
import { fill, newAgent, signInAt } from '../../support/scenes/oidc.js'
import { answerFromDevice, registerDevice } from '../../support/scenes/second-factor.js'
import { mailedCode, newGuest, wrongCode } from '../../support/scenes/sign-in.js'
import { newSession } from '../../support/scenes/world.js'

const EMAIL = 'grace@example.test'
const html = { accept: 'text/html' }

const offer = (call: Call, agent: { token: string }) => call('POST', '/v4/agent/account-choice', agent)
const accountOf = async (call: Call, agent: { token: string }) =>
  (await call('GET', '/v4/agent/account', agent)).body.account

contract('createAccountChoice', (start) => {
  it('POST /v4/agent/account-choice creates a link that works once, within 15 minutes, and applies at once', async () => {
    const { call, url } = await start()
    const at = await stopClock(call)
    const { id } = await newOwnAccount(call, EMAIL)
    const agent = { token: (await newAgent(call, { email: EMAIL })).accessToken }
    const { status, body } = await offer(call, agent)
    const link = { url: expect.stringContaining(`${url}/agents/account-choice/`), expires_at: at / 1000 + 900 }
    expect([status, body]).toEqual([201, link])
    const path = pathOf(body.url)
    const asks = await call('GET', path)
    expect(asks.text).toContain('for="email"')
    expect(asks.text).not.toContain(EMAIL)
    const { session } = await signInAt(call, path, EMAIL)
    const page = await call('GET', path, { session })
    expect(page.text).toContain('Errand Runner')
    expect([...page.text.matchAll(/name="account" value="(\w+)"/g)].map(([, value]) => value)).toEqual([
      'none',
      `${id}`,
    ])
    expect((await fill(call, path, session, { answer: 'choose', account: String(id) })).status).toBe(303)
    expect(await accountOf(call, agent)).toEqual({ id, name: null })
    expect((await call('GET', path, { session })).text).toContain(`now has access to <bdi>Account ${id}</bdi>`)
    await fill(call, path, session, { answer: 'choose', account: 'none' })
    expect(await accountOf(call, agent)).toEqual({ id, name: null })
    // None can be chosen as well.
    const next = pathOf((await offer(call, agent)).body.url)
    await fill(call, next, session, { answer: 'choose', account: 'none' })
    expect(await accountOf(call, agent)).toBeNull()
    const late = pathOf((await offer(call, agent)).body.url)
    await advance(call, '15m')
    for (const answer of [await call('GET', late), await fill(call, late, session, { answer: 'choose' })])
      expectProblem(answer, 410, 'link_expired')
    expect((await call('GET', late, { headers: html })).text).toContain('Nothing to choose here')
  })

  it('refuses if there is no account to choose: 409 not_choosable', async () => {
    const {
      call,
      made: { accessToken },
    } = await startWith(start, newAgent, { email: EMAIL })
    expectProblem(await offer(call, { token: accessToken }), 409, 'not_choosable')
  })
})

contract('the choice of an account', (start) => {
  it('belongs to the user who connected the app: other users are refused', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { agent, session, seller },
    } = await startWith(start, newBusiness, EMAIL)
    await newOwnAccount(call, 'eve@example.test')
    const path = pathOf((await offer(call, agent)).body.url)
    const eve = await newSession(call, 'eve@example.test')
    const page = await call('GET', path, { session: eve })
    expect(page.text).toContain('This is for a different user')
    await fill(call, path, eve, { answer: 'choose', account: 'none' })
    expect((await accountOf(call, agent)).id).toBe(seller.id)
    expect((await fill(call, path, eve, { answer: 'switch' })).headers.get('location')).toContain('?step=email')
    for (const account of ['999', '', 'all'])
      expectProblem(await fill(call, path, session, { answer: 'choose', account }), 400, 'field_invalid')
    expect((await accountOf(call, agent)).id).toBe(seller.id)
    for (const answer of [await call('GET', `${path}x`), await fill(call, `${path}x`, eve, { answer: 'choose' })])
      expectProblem(answer, 404, 'not_found')
    const { connections } = (await call('GET', '/v4/connections', { session })).body
    await call('DELETE', `/v4/connections/${connections[0].id}`, { session })
    expectProblem(await call('GET', path, { session }), 410, 'link_expired')
  })

  it('asks for a new code if one is wrong, expired or tried too often', async () => {
    const { call } = await start()
    await stopClock(call)
    const { agent } = await newBusiness(call, EMAIL)
    const path = pathOf((await offer(call, agent)).body.url)
    const guest = await newGuest(call)
    expectProblem(await fill(call, path, guest, { answer: 'continue', email: 'nobody' }), 400, 'field_invalid')
    await fill(call, path, guest, { answer: 'continue', email: EMAIL })
    const code = await mailedCode(call, EMAIL)
    const wrong = { answer: 'verify', code: wrongCode(code) }
    const page = await call('POST', path, { session: guest, form: wrong, headers: html })
    expect([page.status, page.text]).toEqual([401, expect.stringContaining('The code is wrong.')])
    for (let n = 0; n < 4; n++) expectProblem(await fill(call, path, guest, wrong), 401, 'code_wrong')
    expectProblem(await fill(call, path, guest, { answer: 'verify', code }), 429, 'too_many_tries')
    await fill(call, path, guest, { answer: 'continue', email: EMAIL })
    const last = await mailedCode(call, EMAIL)
    await advance(call, '10m')
    expectProblem(await fill(call, path, guest, { answer: 'verify', code: last }), 410, 'code_expired')
    for (let n = 0; n < 5; n++) await fill(call, path, guest, { answer: 'continue', email: EMAIL })
    expectProblem(await fill(call, path, guest, { answer: 'continue', email: EMAIL }), 429, 'too_many_codes')
  })

  it('waits for the second factor of a user who has a device', async () => {
    const { call } = await start()
    await stopClock(call)
    const { agent, session, seller } = await newBusiness(call, EMAIL)
    await registerDevice(call, { session })
    const newest = async () =>
      Number(
        (await call('GET', `/_sandbox/outbox?to=${EMAIL}&kind=push`)).body.messages[0].data.authentication_request_id,
      )
    const path = pathOf((await offer(call, agent)).body.url)
    const phone = { session: await newSession(call, EMAIL) }
    const page = await call('GET', path, { session })
    expect([page.headers.get('refresh'), page.text]).toEqual(['2', expect.stringContaining('Approve on your device')])
    await fill(call, path, session, { answer: 'choose', account: 'none' })
    expect((await accountOf(call, agent)).id).toBe(seller.id)
    await answerFromDevice(call, phone, { id: await newest(), verb: 'reject' })
    expect((await call('GET', path, { session })).text).toContain('Not approved on your device')
    await fill(call, path, session, { answer: 'ask_again' })
    await answerFromDevice(call, phone, { id: await newest() })
    // What was approved too long ago is asked again.
    await advance(call, '5m')
    await fill(call, path, session, { answer: 'choose', account: 'none' })
    expect((await accountOf(call, agent)).id).toBe(seller.id)
    await answerFromDevice(call, phone, { id: await newest() })
    await fill(call, path, session, { answer: 'choose', account: 'none' })
    expect(await accountOf(call, agent)).toBeNull()
    // What the device said of one link says nothing of the next.
    const second = pathOf((await offer(call, agent)).body.url)
    expect((await call('GET', second, { session })).text).toContain('Approve on your device')
    await answerFromDevice(call, phone, { id: await newest(), verb: 'reject' })
    const third = pathOf((await offer(call, agent)).body.url)
    expect((await call('GET', third, { session })).text).toContain('Approve on your device')
    await fill(call, third, session, { answer: 'choose', account: String(seller.id) })
    expect(await accountOf(call, agent)).toBeNull()
    await answerFromDevice(call, phone, { id: await newest() })
    await fill(call, third, session, { answer: 'choose', account: String(seller.id) })
    expect((await accountOf(call, agent)).id).toBe(seller.id)
    const other = await newSession(call, EMAIL)
    await advance(call, '15m')
    for (let n = 0; n < 5; n++) {
      const body = { action: 'other', detail: { n } }
      await call('POST', '/v4/authentication-requests', { session, body })
    }
    const next = pathOf((await offer(call, agent)).body.url)
    for (const code of ['too_many_pending', 'too_many_mails'] as const) {
      expectProblem(await call('GET', next, { session: other }), 429, code)
      expectProblem(await fill(call, next, other, { answer: 'ask_again' }), 429, code)
      await advance(call, '2m')
    }
  })
})
