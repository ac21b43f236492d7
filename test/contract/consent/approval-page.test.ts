import { expect, it } from 'vitest'
import type { Answer } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { applyChange, newBusiness, pressApproval, requestChange } from '../../support/scenes/account-changes.js'
import { answerApproval, newAgentShop, requestApproval } from '../../support/scenes/approvals.js'
import { newItem } from '../../support/scenes/catalog.js'
import { advance, expectProblem } from '../../support/scenes/market.js'
import { signInAt } from '../../support/scenes/oidc.js'
import { answerFromDevice, answerLink, mailedLink, registerDevice } from '../../support/scenes/second-factor.js'
import { mailedCode, newGuest, wrongCode } from '../../support/scenes/sign-in.js'
import { newSession } from '../../support/scenes/world.js'
import { putIntoState } from '../../support/storage/older-state.js'

const html = { accept: 'text/html' }
const OSLO = { arguments: { city: 'Oslo', hours: 3 } }
const buttonsOf = ({ text }: Answer): string[] =>
  [...text.matchAll(/<button[^>]*>([^<]*)</g)].map(([, name]) => name ?? '')

const titleOf = ({ text }: Answer): string | undefined => /<h1[^>]*>([^<]*)</.exec(text)?.[1]

/** An approval that an agent asked its user for. */
async function asked(start: Parameters<typeof newAgentShop>[0], fields: object = {}) {
  const shop = await newAgentShop(start, { external_endpoint: 'https://api.example.test/weather', ...fields })
  const { call, agent, item } = shop
  const { body } = await requestApproval(call, agent, { kind: 'purchase', catalog_item_id: item.id, ...OSLO })
  const id = body.approval_id as string
  const statusOf = async () => (await call('GET', `/v4/agent/approvals/${id}`, agent)).body.status
  return { ...shop, id, path: `/approvals/${id}`, statusOf }
}

contract('openApproval', (start) => {
  it('GET /approvals/:id shows the user the whole request, and accepts a recent code as the second factor', async () => {
    const { call, payer, path, id, statusOf } = await asked(start, { name: '<b>Sun</b> & moon' })
    await putIntoState(call, '& moon', '& \u202emoon')
    const asks = await call('GET', path)
    expect(buttonsOf(asks)).toEqual(['Continue'])
    expect(asks.text).not.toContain('Sun')
    const { session } = await signInAt(call, path, payer.email)
    const page = await call('GET', path, { session })
    expect(buttonsOf(page)).toEqual(['Approve', 'Reject', 'Not you?'])
    for (const text of ['Errand Runner', '0.25 USD', 'Oslo', '&lt;b>Sun&lt;/b> &amp; ⟨U+202E⟩moon'])
      expect(page.text).toContain(text)
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect((await pressApproval(call, session, id, { answer: 'approve' })).status).toBe(303)
    expect(await statusOf()).toBe('approved')
    expect((await call('GET', path, { session })).text).toContain('Approved. Go back to your app.')
    expectProblem(await pressApproval(call, session, id, { answer: 'reject' }), 409, 'not_pending')
  })

  it('shows the price once, and names before hashes', async () => {
    const { call, payer, path } = await asked(start)
    const session = await newSession(call, payer.email)
    const { text } = await call('GET', path, { session })
    expect(text.match(/0\.25 USD/g)).toHaveLength(1)
    const [read = '', details = ''] = text.split('<summary>All details</summary>')
    const main = (read.split('<main')[1] ?? '').replace(/<[^>]+>/g, ' ')
    expect(main).not.toMatch(/[0-9a-f]{16}/)
    expect(main).toMatch(/Wallet 41[0-9a-f]{6}…/)
    expect(details).toMatch(/41[0-9a-f]{30}\.twin\.localhost/)
    expect(details).toMatch(/[0-9a-f]{64}/)
  })

  it('does not reveal to others whether the approval exists', async () => {
    const { call, path, id, statusOf } = await asked(start)
    const none = '/approvals/apr_00000000000000000000000000000000'
    const bare = ({ text, status }: Answer) => [status, text]
    expect(bare(await call('GET', path, { headers: html }))).toEqual(bare(await call('GET', none, { headers: html })))
    const session = await newSession(call, 'eve@example.test')
    const opened = { session, headers: html }
    expect(bare(await call('GET', path, opened))).toEqual(bare(await call('GET', none, opened)))
    for (const answer of [
      await call('GET', path, { session }),
      await pressApproval(call, session, id, { answer: 'approve' }),
    ])
      expectProblem(answer, 404, 'not_found')
    expectProblem(await pressApproval(call, undefined, id, { answer: 'approve' }), 401, 'sign_in_required')
    const other = await pressApproval(call, session, id, { answer: 'switch' })
    expect(other.headers.get('location')).toMatch(/\?step=email$/)
    expect(await statusOf()).toBe('pending')
  })

  it('shows a change next to the current values', async () => {
    const {
      call,
      made: { agent, seller, session },
    } = await startWith(start, newBusiness)
    const item = await newItem(call, seller)
    const change = { kind: 'update_item', catalog_item_id: item.id, description: 'By the minute.', price: 0.5 }
    const { body } = await requestChange(call, agent, change)
    const { text } = await call('GET', `/approvals/${body.approval_id}`, { session })
    for (const part of ['The weather of a city', 'By the minute.', '0.25 USD', '0.50 USD']) expect(text).toContain(part)
    await pressApproval(call, session, body.approval_id, { answer: 'approve' })
    expect((await applyChange(call, agent, body.approval_id)).status).toBe(200)
    expect((await call('GET', `/approvals/${body.approval_id}`, { session })).text).toContain('the app has used it')
  })
})

contract('answerApproval', (start) => {
  it('POST /approvals/:id asks the device of a user who has one, and continues after its approval', async () => {
    const { call, payer, path, id, statusOf } = await asked(start)
    await registerDevice(call, payer)
    const session = await newSession(call, payer.email)
    const newest = async () =>
      Number(
        (await call('GET', `/_sandbox/outbox?to=${payer.email}&kind=push`)).body.messages[0].data
          .authentication_request_id,
      )
    const waiting = await pressApproval(call, session, id, { answer: 'approve' })
    expect(waiting.headers.get('location')).toMatch(/\?step=wait$/)
    const page = await call('GET', `${path}?step=wait`, { session })
    expect([page.headers.get('refresh'), buttonsOf(page)]).toEqual(['2', ['Reject']])
    expect(titleOf(page)).toBe('Approve on your device')
    const first = await newest()
    const pressed = await pressApproval(call, session, id, { answer: 'approve' })
    expect([pressed.headers.get('location'), await newest()]).toEqual([waiting.headers.get('location'), first])
    await answerFromDevice(call, payer, { id: first, verb: 'reject' })
    expectProblem(await call('GET', `${path}?step=wait`, { session }), 403, 'rejected')
    expect(buttonsOf(await call('GET', path, { session }))[0]).toBe('Approve')
    await pressApproval(call, session, id, { answer: 'approve' })
    expect(await newest()).not.toBe(first)
    // Another session waits for its own.
    await answerFromDevice(call, payer, { id: await newest() })
    const other = await newSession(call, payer.email)
    expect(buttonsOf(await call('GET', path, { session: other }))[0]).toBe('Approve')
    expect(await statusOf()).toBe('pending')
    expect((await call('GET', `${path}?step=wait`, { session })).text).toContain('Approved. Go back to your app.')
    expect(await statusOf()).toBe('approved')
  })

  it('mails a link to a user without a device whose code is older than five minutes', async () => {
    const { call, payer, path, id, statusOf } = await asked(start)
    const session = await newSession(call, payer.email)
    await advance(call, '5m')
    await pressApproval(call, session, id, { answer: 'approve' })
    const wait = await call('GET', `${path}?step=wait`, { session })
    expect([titleOf(wait), wait.text]).toEqual(['Approve by mail', expect.stringContaining('We mailed you a link.')])
    await advance(call, '2m')
    expectProblem(await call('GET', `${path}?step=wait`, { session }), 408, 'approval_timeout')
    await pressApproval(call, session, id, { answer: 'approve' })
    const link = await mailedLink(call, payer.email)
    await pressApproval(call, session, id, { answer: 'approve' })
    expect(await mailedLink(call, payer.email)).toEqual(link)
    await answerLink(call, link)
    expect(await statusOf()).toBe('pending')
    await call('GET', `${path}?step=wait`, { session })
    expect(await statusOf()).toBe('approved')
    expect((await call('GET', path, { session })).text).toContain('<main class="good">')
  })

  it('takes the second factor that was given for this request, and for no other of the session', async () => {
    const { call, agent, payer, item, id, statusOf } = await asked(start)
    const session = await newSession(call, payer.email)
    await advance(call, '5m')
    const wish = { kind: 'purchase', catalog_item_id: item.id, arguments: { city: 'Bergen' } }
    const other = (await requestApproval(call, agent, wish)).body.approval_id
    await pressApproval(call, session, other, { answer: 'approve' })
    await answerLink(call, await mailedLink(call, payer.email))
    expect(buttonsOf(await call('GET', `/approvals/${id}`, { session }))[0]).toBe('Approve')
    expect((await pressApproval(call, session, id, { answer: 'approve' })).headers.get('location')).toMatch(/wait$/)
    expect(await statusOf()).toBe('pending')
    // Pressing the button again is enough once the link was answered.
    await answerLink(call, await mailedLink(call, payer.email))
    await pressApproval(call, session, id, { answer: 'approve' })
    expect(await statusOf()).toBe('approved')
  })

  it('lets a user who is not meant sign in as another', async () => {
    const { call, payer, path } = await asked(start)
    const session = await newSession(call, 'eve@example.test')
    const page = await call('GET', path, { session, headers: html })
    expect([titleOf(page), page.text]).toEqual([
      'Nothing to approve here',
      expect.stringContaining('Signed in as eve@example.test'),
    ])
    expect(buttonsOf(await call('GET', `${path}?step=email`, { session }))).toEqual(['Continue'])
    const { session: own } = await signInAt(call, path, payer.email, session)
    expect(buttonsOf(await call('GET', path, { session: own }))[0]).toBe('Approve')
  })

  it('always asks in a session that was created with a token', async () => {
    const { call, payer, id, statusOf } = await asked(start)
    const { session_id } = (await call('POST', '/v4/session', payer)).body
    expect((await pressApproval(call, session_id, id, { answer: 'approve' })).headers.get('location')).toMatch(/wait$/)
    expect(await statusOf()).toBe('pending')
  })

  it('rejects at once, and reports an expired approval', async () => {
    const { call, agent, payer, item, path, id, statusOf } = await asked(start)
    const session = await newSession(call, payer.email)
    expect((await pressApproval(call, session, id, { answer: 'reject' })).status).toBe(303)
    expect(await statusOf()).toBe('rejected')
    expect((await call('GET', path, { session })).text).toContain('You rejected this.')
    const { body } = await requestApproval(call, agent, { kind: 'purchase', catalog_item_id: item.id, ...OSLO })
    await advance(call, '15m')
    const page = await call('GET', `/approvals/${body.approval_id}`, { session })
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('This request has expired')])
    expectProblem(await answerApproval(call, payer, body.approval_id), 409, 'not_pending')
  })

  it('asks for a new code if one is wrong, expired or tried too often', async () => {
    const { call, payer, path, id } = await asked(start)
    const guest = await newGuest(call)
    const press = (form: Record<string, string>) => pressApproval(call, guest, id, form)
    const { email } = payer
    expectProblem(await press({ answer: 'continue', email: 'nobody' }), 400, 'field_invalid')
    await press({ answer: 'continue', email })
    const code = await mailedCode(call, email)
    const wrong = { answer: 'verify', code: wrongCode(code) }
    const page = await call('POST', path, { session: guest, form: wrong, headers: html })
    expect([page.status, page.text]).toEqual([401, expect.stringContaining('The code is wrong.')])
    for (let n = 0; n < 4; n++) expectProblem(await press(wrong), 401, 'code_wrong')
    expectProblem(await press({ answer: 'verify', code }), 429, 'too_many_tries')
    await press({ answer: 'continue', email })
    const last = await mailedCode(call, email)
    await advance(call, '10m')
    expectProblem(await press({ answer: 'verify', code: last }), 410, 'code_expired')
    for (let n = 0; n < 5; n++) await press({ answer: 'continue', email })
    expectProblem(await press({ answer: 'continue', email }), 429, 'too_many_codes')
  })

  it('does not ask a user who has five waiting requests', async () => {
    const { call, payer, id } = await asked(start)
    await registerDevice(call, payer)
    const session = await newSession(call, payer.email)
    for (let n = 0; n < 5; n++) {
      const body = { action: 'other', detail: { n } }
      await call('POST', '/v4/authentication-requests', { session, body })
    }
    expectProblem(await pressApproval(call, session, id, { answer: 'approve' }), 429, 'too_many_pending')
    await advance(call, '2m')
    expectProblem(await pressApproval(call, session, id, { answer: 'approve' }), 429, 'too_many_mails')
  })
})
