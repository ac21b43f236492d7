import { afterEach, expect, test } from 'vitest'
import { createService, type Service } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newGuest } from '../support/scenes/sign-in.js'

const BASE = 'https://pay.example.test/money'
const inBrowser = { accept: 'text/html,*/*;q=0.8' }

let service: Service | undefined
afterEach(() => service?.close())

/** Whoever opens the page of an approval has to sign in first, whether it exists or not. */
async function visitor({ sandbox = true } = {}) {
  const started = createService({ baseUrl: BASE, sandbox })
  service = started
  const call = caller({ url: BASE, fetch: (request) => started.fetch(request) })
  const session = await newGuest(call)
  return {
    open: (path: string, headers = inBrowser) => call('GET', path, { session, headers }),
    answer: (path: string, form: Record<string, string>, headers = inBrowser) =>
      call('POST', path, { session, form, headers }),
  }
}

test('an answer redirects to the address of the next step, which can be reopened', async () => {
  const { open, answer } = await visitor()
  const { status, headers, text } = await answer('/approvals/a%2Fb', { answer: 'continue', email: 'ada@example.test' })
  expect([status, text, headers.get('location')]).toEqual([303, '', `${BASE}/approvals/a%2Fb?step=code`])
  for (const _ of [1, 2]) {
    const page = await open('/approvals/a%2Fb?step=code')
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('<h1 dir="auto">Enter your code</h1>')])
  }
})

test('a refused answer shows the form again with the input and the error', async () => {
  const { answer } = await visitor()
  const { status, text } = await answer('/approvals/a', { answer: 'continue', email: '"ada' })
  expect(status).toBe(400)
  expect(text).toContain('<p role="alert" id="alert">Enter an email address, such as ada@example.test.</p>')
  expect(text).toMatch(/<input id="email"[^>]* value="&quot;ada"[^>]* aria-invalid="true" aria-describedby="alert"/)
})

test('a program gets the usual JSON error for a refused answer', async () => {
  const { answer } = await visitor()
  const { status, body } = await answer('/approvals/a', { answer: 'continue', email: 'ada' }, { accept: '*/*' })
  expect([status, body]).toEqual([400, expect.objectContaining({ code: 'field_invalid', field: 'email' })])
})

test('the page refuses an answer that no button sends with an error page', async () => {
  const { answer } = await visitor()
  for (const form of [{ answer: 'constructor' }, { answer: '' }, {}]) {
    const { status, text } = await answer('/approvals/a', form)
    expect([status, text]).toEqual([400, expect.stringContaining('<h1 dir="auto">This cannot go on</h1>')])
  }
})

test("an address with a made-up step shows the visitor's actual step", async () => {
  const { open } = await visitor()
  for (const step of ['code', 'device', 'wait', '__proto__', ''])
    expect((await open(`/approvals/a?step=${step}`)).text).toContain('<h1 dir="auto">Sign in to answer</h1>')
})

test('a page links to the outbox of its own service, and only in a sandbox', async () => {
  for (const sandbox of [true, false]) {
    const { open, answer } = await visitor({ sandbox })
    await answer('/approvals/a', { answer: 'continue', email: 'ada@example.test' })
    const [, href] = /<a href="([^"]*outbox)"/.exec((await open('/approvals/a?step=code')).text) ?? []
    expect(href && new URL(href, `${BASE}/approvals/a?step=code`).href).toBe(
      sandbox ? `${BASE}/_sandbox/outbox` : undefined,
    )
    await service?.close()
  }
})
