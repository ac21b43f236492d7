import { expect, it } from 'vitest'
import type { Answer, CallOptions } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { prepared } from '../../support/contract/prepared.js'
import { advance, expectProblem, stopClock } from '../../support/scenes/market.js'
import {
  answerFromDevice,
  answerLink,
  ask,
  type Link,
  mailedLink,
  poll,
  registerDevice,
  secondFactorEvents,
} from '../../support/scenes/second-factor.js'
import { newGuest } from '../../support/scenes/sign-in.js'
import { newPayer, newSeller, newSession } from '../../support/scenes/world.js'

/** A user without a device, whose session asks for something while the clock stands still. */
const world = (start: Start, body: object = {}) => asker(start, body)

const asker = prepared(async (call, body: object) => {
  const at = await stopClock(call)
  const payer = await newPayer(call, await newSeller(call), { email: 'ada@example.test' })
  const session = await newSession(call, payer.email)
  const { id } = (await ask(call, { session }, body)).body
  return { at, payer, session, id, link: await mailedLink(call, payer.email) }
})

const inBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** The page, as people read it. */
const textOf = ({ text }: Answer): string =>
  text
    .replace(/<style>.*?<\/style>/gs, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')

contract('openMailedRequest', (start) => {
  it('GET /v4/authentication-requests/:id/answer shows the exact request, and decides nothing', async () => {
    const detail = { payee: '<b>shop</b>', amount: 2.5, lines: [1, { of: 'two' }], line_break: 'a\nb' }
    const { call, payer, id, link } = await world(start, { detail })
    const answer = await call('GET', link.path, { headers: inBrowser })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const text = textOf(answer)
    expect(text).toContain('“Transfer”')
    expect(text).toContain("“Payee: &lt;b>shop&lt;/b>; Amount: 2.5; Lines: [1,{'of':'two'}]; Line break: a b”")
    expect(text).toContain('Reject Approve')
    for (let n = 0; n < 3; n++) expect((await call('GET', link.path)).status).toBe(200)
    expect((await poll(call, payer, id)).body.status).toBe('pending')
    expect((await call('HEAD', link.path)).status).toBe(200)
  })

  it('cannot be framed, runs no script, sends its form only to itself and hides its address from other sites', {
    tags: 'everywhere',
  }, async () => {
    const { call, link } = await world(start)
    const { headers } = await call('GET', link.path)
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("form-action 'self'")
    expect(policy).not.toContain('script-src')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  it('is 400 without a token', async () => {
    const { call, link } = await world(start)
    const answer = await call('GET', link.path.split('?')[0] as string)
    expectProblem(answer, 400, 'field_invalid')
    expect(answer.body.field).toBe('token')
  })
})

contract('answerMailedRequest', (start) => {
  it.each([
    ['approve', 'approved', 'Approved'],
    ['reject', 'rejected', 'Rejected'],
  ])('POST /v4/authentication-requests/:id/answer is the answer: %s', async (verb, status, heading) => {
    const { call, payer, session, id, link } = await world(start)
    const answer = await answerLink(call, link, verb, { headers: inBrowser })
    expect(answer.status).toBe(200)
    expect(textOf(answer)).toContain(`“Transfer” ${heading}`)
    expect(textOf(answer)).toContain('“Payee: shop. example. test; Amount: 2.5; Digital quantity: USD”')
    expect((await poll(call, { session }, id)).body.status).toBe(status)
    expect(await secondFactorEvents(call, payer.token)).toEqual([
      ['requested', 'mail'],
      [status, 'link'],
    ])
  })

  it('accepts only approve or reject', async () => {
    const { call, payer, id, link } = await world(start)
    for (const verb of ['approved', '', 'Approve']) {
      const answer = await answerLink(call, link, verb)
      expectProblem(answer, 400, 'field_invalid')
      expect(answer.body.field).toBe('answer')
    }
    expect((await poll(call, payer, id)).body.status).toBe('pending')
  })

  it('accepts one of 20 answers at once', async () => {
    const { call, link } = await world(start)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => answerLink(call, link, n % 2 ? 'approve' : 'reject')),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ body }) => body?.code === 'link_expired')).toHaveLength(19)
  })
})

contract('a mailed link', (start) => {
  const both: readonly [
    string,
    (call: Parameters<typeof ask>[0], link: Link, more?: CallOptions) => Promise<Answer>,
  ][] = [
    ['opened', (call, { path }, more) => call('GET', path, more)],
    ['answered', (call, link, more) => answerLink(call, link, 'approve', more)],
  ]

  it.each(both)('used twice is 410 when %s, and the first answer stays', async (_, use) => {
    const { call, payer, id, link } = await world(start)
    await answerLink(call, link, 'reject')
    expectProblem(await use(call, link), 410, 'link_expired')
    const page = await use(call, link, { headers: inBrowser })
    expect(page.status).toBe(410)
    expect(textOf(page)).toContain('This link has expired or was already used.')
    expect((await poll(call, payer, id)).body.status).toBe('rejected')
  })

  it.each(both)('two minutes old is 410 when %s', async (_, use) => {
    const { call, payer, id, link } = await world(start)
    await advance(call, '1m59s')
    expect((await call('GET', link.path)).status).toBe(200)
    await advance(call, '1s')
    expectProblem(await use(call, link), 410, 'link_expired')
    expect((await poll(call, payer, id)).body.status).toBe('expired')
  })

  it.each(both)('is 403 when %s by the session that asked, by header or by cookie', async (_, use) => {
    const { call, url, payer, session, id, link } = await world(start)
    const cookie = { cookie: `session_id=${session}`, origin: new URL(url).origin }
    expectProblem(await use(call, link, { session }), 403, 'self_approval')
    expectProblem(await use(call, link, { headers: cookie }), 403, 'self_approval')
    const page = await use(call, link, { headers: { ...cookie, ...inBrowser } })
    expect([page.status, textOf(page)]).toEqual([403, expect.stringContaining('Answer from another session')])
    expect((await poll(call, payer, id)).body.status).toBe('pending')
    expect((await use(call, link, { session: await newGuest(call) })).status).toBe(200)
  })

  it.each(both)('is 404 when %s with another token, or for another request', async (_, use) => {
    const { call, payer, session, id, link } = await world(start)
    const other = (await ask(call, { session })).body.id as number
    const wrong = [
      { ...link, token: 'x', path: link.path.replace(link.token, 'x') },
      { ...link, token: '', path: link.path.replace(link.token, '') },
      { ...link, path: link.path.replace(`/${id}/`, `/${other}/`) },
      { ...link, path: link.path.replace(`/${id}/`, '/999999/') },
    ]
    for (const each of wrong) expectProblem(await use(call, each), 404, 'not_found')
    for (const each of [id, other]) expect((await poll(call, payer, each)).body.status).toBe('pending')
  })

  it('does not exist for a user with a device: 404', async () => {
    const { call, payer, link } = await world(start)
    await registerDevice(call, payer)
    const { id } = (await ask(call, payer)).body
    for (const token of ['', 'null', link.token])
      expectProblem(await call('GET', `/v4/authentication-requests/${id}/answer?token=${token}`), 404, 'not_found')
  })

  it('stays the only way to answer if a device is registered later', async () => {
    const { call, payer, id, link } = await world(start)
    await registerDevice(call, payer)
    expectProblem(await answerFromDevice(call, payer, { id }), 403, 'device_refused')
    expect((await answerLink(call, link)).status).toBe(200)
  })
})
