import { expect, it } from 'vitest'
import type { Answer, Call, CallOptions } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { advance, expectProblem, setClock } from '../../support/scenes/market.js'
import { mailedCode, newGuest, wrongCode } from '../../support/scenes/sign-in.js'
import { DAY, INVITED, inviteByMail, lastMail, newSender, walletOf } from '../../support/scenes/transfers.js'
import { newPayer, newSession } from '../../support/scenes/world.js'

const inBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** The page, as people read it. */
const textOf = ({ text }: Answer): string =>
  text
    .replace(/<head>.*?<\/head>/gs, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')

const open = (call: Call, path: string, options: CallOptions = {}) =>
  call('GET', path, { ...options, headers: { ...inBrowser, ...options.headers } })

const answer = (call: Call, path: string, form: Record<string, string>, options: CallOptions = {}) =>
  call('POST', path, { ...options, form, headers: { ...inBrowser, ...options.headers } })

contract('openInvitation', (start) => {
  it('GET /transfers/:token shows who sends how much, their message and until when', async () => {
    const { call, payer } = await newSender(start)
    const { path } = await inviteByMail(call, payer, { memo: '<b>2</b> “for” you' })
    const page = await open(call, path)
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const text = textOf(page)
    expect(text).toContain(`For ${INVITED} 2.50 USD for you From sender@example.test ${payer.hostname}`)
    expect(text).toContain('Their message &lt;b>2&lt;/b> “for” you')
    expect(text).toContain('You can claim it until 2031-05-31 12:00 UTC.')
    expect(text).toContain('Continue')
    expect((await call('HEAD', path)).status).toBe(200)
    expect((await lastMail(call)).subject).toContain('sends you')
  })

  it('forbids frames and scripts, posts its form to itself and hides its address from other sites', async () => {
    const { call, payer } = await newSender(start)
    const { headers } = await open(call, (await inviteByMail(call, payer)).path)
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("form-action 'self'")
    expect(policy).not.toContain('script-src')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cache-control')).toBe('private, no-store')
  })
})

contract('answerInvitation', (start) => {
  async function invited(body: object = {}) {
    const world = await newSender(start)
    const { path, id } = await inviteByMail(world.call, world.payer, body)
    return { ...world, path, id, session: await newGuest(world.call) }
  }

  it('POST /transfers/:token mails a code to the invited email, signs in with it, and shows the balance', {
    tags: 'everywhere',
  }, async () => {
    const { call, url, path, session, id } = await invited()
    const asked = await answer(call, path, { answer: 'continue', email: 'mallory@example.test' }, { session })
    expect([asked.status, asked.headers.get('location')]).toEqual([303, `${url}${path}?step=code`])
    const code = await mailedCode(call, INVITED)
    const page = textOf(await open(call, `${path}?step=code`, { session }))
    expect(page).toContain(`We mailed a six-digit code to ${INVITED}`)
    const verified = await answer(call, `${path}?step=code`, { answer: 'verify', code: ` ${code} ` }, { session })
    expect([verified.status, verified.headers.get('location')]).toEqual([303, url + path])
    const signedIn = verified.headers.get('x-session-id') as string
    expect(signedIn).not.toBe(session)
    expect((await call('GET', '/v4/session', { session: signedIn })).body.user.email).toBe(INVITED)
    const done = await open(call, path, { session: signedIn })
    expect([done.status, textOf(done)]).toEqual([200, expect.stringContaining('BALANCE 2.50 USD')])
    const { transfers } = (await call('GET', '/v4/transfers', { session: signedIn })).body
    expect(transfers).toMatchObject([{ id, status: 'completed' }])
  })

  it('shows the page again after a wrong code, and counts the tries', async () => {
    const { call, path, session, payer } = await invited()
    await answer(call, path, { answer: 'continue' }, { session })
    const code = await mailedCode(call, INVITED)
    for (let n = 0; n < 5; n++) {
      const refused = await answer(call, path, { answer: 'verify', code: wrongCode(code) }, { session })
      expect(refused.status).toBe(401)
      expect(refused.text).toContain('<p role="alert" id="alert">The code is wrong.</p>')
      expect(textOf(refused)).toContain('Verify')
    }
    const refused = await answer(call, path, { answer: 'verify', code }, { session })
    expect([refused.status, textOf(refused)]).toEqual([429, expect.stringContaining('Too many wrong codes')])
    expect(refused.headers.get('retry-after')).toEqual(expect.stringMatching(/^\d+$/))
    expect(await walletOf(call, payer)).toBe(7.5)
  })

  it('returns the usual problem codes to programs', async () => {
    const { call, path, session } = await invited()
    const post = (body: object) => call('POST', path, { session, body })
    expectProblem(await post({ answer: 'verify', code: '000000' }), 401, 'code_wrong')
    expectProblem(await post({ answer: 'verify' }), 401, 'code_wrong')
    for (const wrong of ['', 'Verify', 'cancel'])
      expect((await post({ answer: wrong })).body).toMatchObject({ code: 'field_invalid', field: 'answer' })
    expect((await post({ answer: 'continue' })).status).toBe(303)
    const code = await mailedCode(call, INVITED)
    await advance(call, '10m')
    expectProblem(await post({ answer: 'verify', code }), 410, 'code_expired')
    for (let n = 0; n < 4; n++) expect((await post({ answer: 'continue' })).status).toBe(303)
    expectProblem(await post({ answer: 'continue' }), 429, 'too_many_codes')
    const page = await answer(call, path, { answer: 'continue' }, { session })
    expect([page.status, textOf(page)]).toEqual([429, expect.stringContaining('Too many unused codes')])
    expect(page.headers.get('retry-after')).toEqual(expect.stringMatching(/^\d+$/))
    const newest = await mailedCode(call, INVITED)
    for (let n = 0; n < 5; n++) await post({ answer: 'verify', code: wrongCode(newest) })
    expectProblem(await post({ answer: 'verify', code: newest }), 429, 'too_many_tries')
  })

  it('refuses a code that was mailed to another session', async () => {
    const { call, path, session } = await invited()
    await answer(call, path, { answer: 'continue' }, { session })
    const code = await mailedCode(call, INVITED)
    const elsewhere = { session: await newGuest(call) }
    expect((await answer(call, path, { answer: 'verify', code }, elsewhere)).status).toBe(401)
  })
})

contract('the link of an invitation', (start) => {
  const uses: readonly [string, (call: Call, path: string, options?: CallOptions) => Promise<Answer>][] = [
    ['opened', (call, path, options) => call('GET', path, options)],
    ['answered', (call, path, options) => call('POST', path, { ...options, form: { answer: 'continue' } })],
  ]

  it.each(uses)('is 410 when %s after it expired', async (_, use) => {
    const { call, at, payer } = await newSender(start)
    const { path } = await inviteByMail(call, payer)
    await setClock(call, at + 30 * DAY)
    expectProblem(await use(call, path), 410, 'transfer_expired')
    const page = await use(call, path, { headers: inBrowser })
    expect([page.status, textOf(page)]).toEqual([410, expect.stringContaining('Nobody claimed this transfer in time')])
  })

  it.each(uses)('is 410 when %s after the sender took the amount back', { tags: 'everywhere' }, async (_, use) => {
    const { call, payer } = await newSender(start)
    const { path, id } = await inviteByMail(call, payer)
    await call('POST', `/v4/transfers/${id}/cancel`, { token: payer.token })
    expectProblem(await use(call, path), 410, 'link_expired')
    const page = await use(call, path, { headers: inBrowser })
    expect([page.status, textOf(page)]).toEqual([410, expect.stringContaining('The sender took the amount back.')])
  })

  it.each(uses)('is 410 when %s by anybody else after the claim, and tells them nothing', async (_, use) => {
    const { call, payer, seller } = await newSender(start)
    const { path } = await inviteByMail(call, payer)
    await newSession(call, INVITED)
    expectProblem(await use(call, path), 410, 'link_expired')
    const { email } = await newPayer(call, seller)
    const page = await use(call, path, { session: await newSession(call, email), headers: inBrowser })
    expect([page.status, textOf(page)]).toEqual([410, expect.stringContaining('The amount was claimed already.')])
    expect(page.text).not.toContain('BALANCE')
  })

  it.each(uses)('is 404 when %s with a wrong token', async (_, use) => {
    const { call, payer } = await newSender(start)
    const { path } = await inviteByMail(call, payer)
    for (const wrong of [`${path}x`, path.slice(0, -1), '/transfers/x', '/transfers/null'])
      expectProblem(await use(call, wrong), 404, 'not_found')
    const page = await use(call, '/transfers/x', { headers: inBrowser })
    expect([page.status, page.text]).toEqual([404, expect.stringContaining('role="alert"')])
  })
})
