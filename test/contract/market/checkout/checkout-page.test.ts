import { expect, it } from 'vitest'
import type { Answer, Call, CallOptions } from '../../../support/api.js'
import { contract, type Start } from '../../../support/contract/contract.js'
import { prepared as preparedWith } from '../../../support/contract/prepared.js'
import {
  cardMessages,
  changeItem,
  complete,
  guest,
  type Link,
  newCheckout,
  newShop,
  type Sold,
  settled,
  startGate,
  statusOf,
  withCard,
} from '../../../support/scenes/checkout.js'
import { advance, expectProblem, setClock, stopClock } from '../../../support/scenes/market.js'
import { mailedCode, newGuest, wrongCode } from '../../../support/scenes/sign-in.js'
import { DAY } from '../../../support/scenes/transfers.js'
import { useUpstream } from '../../../support/scenes/upstream.js'
import { newPayer, newSession } from '../../../support/scenes/world.js'

const upstream = useUpstream()

const inBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const BACK = 'https://shop.example.test/back'
const DONE = 'https://shop.example.test/done'

/** The page, as people read it. */
const textOf = ({ text }: Answer): string =>
  text
    .replace(/<head>.*?<\/head>/gs, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')

const alertIn = ({ text }: Answer): string | undefined => /role="alert"[^>]*>(.*?)<\/p>/s.exec(text)?.[1]
const buttonsIn = ({ text }: Answer): string[] =>
  [...text.matchAll(/<button[^>]*>(.*?)<\/button>/g)].map(([, name]) => name as string)

const open = (call: Call, { token }: Pick<Link, 'token'>, options: CallOptions = {}, step = '') =>
  call('GET', `/checkout/${token}${step && `?step=${step}`}`, { ...options, headers: inBrowser })

const press = (
  call: Call,
  { token }: Pick<Link, 'token'>,
  caller: CallOptions,
  form: Record<string, string>,
  step = '',
) => call('POST', `/checkout/${token}${step && `?step=${step}`}`, { ...caller, form, headers: inBrowser })

/** The same, as programs ask. */
const post = (call: Call, { token }: Pick<Link, 'token'>, caller: CallOptions, body: object) =>
  call('POST', `/checkout/${token}`, { ...caller, body })

const opened = preparedWith(async (call, { path, sold, body }: { path: string; sold?: Sold; body?: object }) => {
  const at = await stopClock(call)
  const shop = await newShop(call, `${upstream.url}/${path}`, sold)
  const link = await newCheckout(call, shop, { success_url: DONE, cancel_url: BACK, ...body })
  return { at, shop, link, session: await newSession(call, shop.payer.email) }
})

async function prepared(
  start: Start,
  {
    path = 'ok',
    sold,
    options,
    body,
  }: { path?: string; sold?: Sold; options?: Parameters<Start>[0]; body?: object } = {},
) {
  const running = await opened(start, { path, ...(sold && { sold }), ...(body && { body }) }, options)
  const { call, shop, session } = running
  return {
    ...running,
    payer: { session } as CallOptions,
    deliverBy: (path: string) => changeItem(call, shop, { external_endpoint: `${upstream.url}/${path}` }),
  }
}

contract('openCheckout', (start) => {
  it('GET /checkout/:token shows the item, the seller, the price and the arguments', async () => {
    const sold = { name: 'Birds & <b>bees</b>', description: 'Told “once”.' }
    const { call, link, shop } = await prepared(start, { sold, body: { email: 'ada@example.test' } })
    await call('PUT', '/v4/account', { token: shop.seller.token, body: { name: 'The Daily Farthing' } })
    const page = await open(call, link)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(textOf(page)).toContain(
      'Sold by The Daily Farthing Birds &amp; &lt;b>bees&lt;/b> Told “once”. 2.00 USD On your receipt STORY topic birds',
    )
    expect(page.text).toContain('value="ada@example.test"')
    expect(buttonsIn(page)).toEqual(['Continue', 'Cancel'])
    expect((await call('HEAD', `/checkout/${link.token}`)).status).toBe(200)
  })

  it('cannot be framed, runs no script and hides its address from other sites', async () => {
    const { call, link, shop } = await prepared(start)
    const { headers } = await open(call, link)
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("form-action 'self' https: http:")
    expect(policy).not.toContain('script-src')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cache-control')).toBe('private, no-store')
    // Without an address to go back to there is no button for it, and no form leads away.
    const other = await open(call, await newCheckout(call, shop))
    expect(other.headers.get('content-security-policy')).toContain("form-action 'self';")
    expect(buttonsIn(other)).toEqual(['Continue'])
  })

  it('shows the balance to a signed-in payer, and says if it is too low', async () => {
    const { call, link, payer, shop } = await prepared(start)
    const page = await open(call, link, payer)
    expect(textOf(page)).toContain(`Signed in as ${shop.payer.email}`)
    expect(textOf(page)).toContain('BALANCE 10.00 USD')
    expect(buttonsIn(page)).toEqual(['Pay', 'Cancel'])
    const poor = await open(call, link, { session: await newSession(call, 'poor@example.test') })
    expect(textOf(poor)).toContain('BALANCE 0.00 USD Your wallet does not have enough for this yet.')
    expect(buttonsIn(await open(call, link, payer, 'email'))).toEqual(['Continue', 'Cancel'])
  })

  it('offers the test cards of a sandbox by their names', async () => {
    const { call, link } = await prepared(start)
    const page = await open(call, link, {}, 'card')
    expect([...page.text.matchAll(/name="payment_method_id" value="([^"]*)"/g)].map(([, value]) => value)).toEqual([
      'pm_card_visa',
      'pm_card_mastercard',
      'pm_card_chargeDeclined',
      'pm_card_chargeDeclinedInsufficientFunds',
      'pm_card_chargeCustomerFail',
      'pm_card_expired',
      'pm_processor_down',
      'pm_processor_slow',
    ])
    expect(buttonsIn(page)).toEqual(['Pay', 'Cancel'])
    expect(page.text).not.toMatch(/autocomplete="cc-/)
  })

  it('offers no card for amounts that cards cannot pay', async () => {
    const { call, link, payer } = await prepared(start, { sold: { price: 0.499 } })
    for (const step of ['', 'card']) {
      expect(textOf(await open(call, link, payer, step))).toContain('BALANCE 10.00 USD')
      expect(textOf(await open(call, link, {}, step))).not.toMatch(/card/)
    }
  })

  it('says if the link is paid by someone else, expired, unknown or has a new price', async () => {
    const { call, at, link, shop } = await prepared(start)
    expect(alertIn(await open(call, { token: 'x' }))).toContain('This payment link is incomplete or wrong')
    expectProblem(await call('GET', '/checkout/x'), 404, 'not_found')
    const [changed, lapsed] = [await newCheckout(call, shop, { cancel_url: BACK }), await newCheckout(call, shop)]
    expect((await complete(call, link, shop.payer)).status).toBe(200)
    await changeItem(call, shop, { price: 3 })
    const other = await open(call, changed)
    expect([other.status, buttonsIn(other)]).toEqual([200, ['Cancel']])
    expect(alertIn(other)).toContain('The price is now 3.00 USD, but this link is for 2.00 USD. Ask for a new link.')
    const paid = await open(call, link, await guest(call))
    expect([paid.status, alertIn(paid)]).toEqual([409, expect.stringContaining('This is already paid. The payer')])
    expect(paid.text).not.toContain('The whole story.')
    expectProblem(await call('GET', `/checkout/${link.token}`), 409, 'checkout_paid')
    await setClock(call, at + DAY)
    const expired = await open(call, lapsed)
    expect([expired.status, alertIn(expired)]).toEqual([410, expect.stringContaining('This checkout link has expired')])
    expectProblem(await call('GET', `/checkout/${lapsed.token}`), 410, 'checkout_expired')
  })

  it('says that someone is paying, and reloads', { tags: 'everywhere' }, async () => {
    const { call, link, payer, shop } = await prepared(start)
    const gate = await startGate()
    await changeItem(call, shop, { external_endpoint: gate.url })
    const paying = complete(call, link, shop.payer)
    await expect.poll(() => statusOf(call, link), { interval: 20 }).toBe('paying')
    const page = await open(call, link, payer)
    expect([page.status, page.headers.get('refresh'), buttonsIn(page)]).toEqual([200, '3', []])
    gate.open()
    expect((await paying).status).toBe(200)
    await gate.close()
  })
})

contract('answerCheckout', (start) => {
  it('POST /checkout/:token mails a code, signs in with it, pays, and shows the receipt to the payer', async () => {
    const { call, url, link, shop } = await prepared(start)
    const { email } = shop.payer
    const session = await newGuest(call)
    const asked = await press(call, link, { session }, { answer: 'continue', email: ` ${email} ` })
    expect([asked.status, asked.headers.get('location')]).toEqual([303, `${url}/checkout/${link.token}?step=code`])
    const page = await open(call, link, { session }, 'code')
    expect(textOf(page)).toContain(`We mailed a six-digit code to ${email}`)
    expect(buttonsIn(page)).toEqual(['Verify', 'Cancel', 'Send a new code'])
    const form = { answer: 'verify', code: await mailedCode(call, email) }
    const verified = await press(call, link, { session }, form, 'code')
    expect([verified.status, verified.headers.get('location')]).toEqual([303, link.url])
    const signedIn = { session: verified.headers.get('x-session-id') as string }
    expect(signedIn.session).not.toBe(session)
    expect(textOf(await open(call, link, signedIn))).toContain('BALANCE 10.00 USD')
    const paid = await press(call, link, signedIn, { answer: 'pay' })
    expect([paid.status, paid.headers.get('location')]).toEqual([303, link.url])
    const receipt = await open(call, link, signedIn)
    const text = textOf(receipt)
    expect(text).toContain('Paid 2.00 USD Transaction')
    expect(text).toContain('The whole story.')
    expect(text).toContain('Go on to shop.example.test')
    expect(receipt.text).toContain(`href="${DONE}"`)
    // Again, as a browser does that sends a form twice.
    expect((await press(call, link, signedIn, { answer: 'pay' })).status).toBe(303)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
  })

  it('lets a guest pay by test card without a sign-in, and shows them the receipt', async () => {
    const { call, link, shop } = await prepared(start)
    const reader = await guest(call)
    const form = { answer: 'card', payment_method_id: 'pm_card_visa' }
    expect((await press(call, link, reader, form, 'card')).status).toBe(303)
    expect(textOf(await open(call, link, reader))).toContain('The whole story.')
    expect((await open(call, link)).status).toBe(409)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })

  it('links back only to the address in the link', async () => {
    const { call, link, shop } = await prepared(start)
    const left = await press(call, link, await guest(call), { answer: 'cancel' })
    expect([left.status, left.headers.get('location')]).toEqual([303, BACK])
    expect(await statusOf(call, link)).toBe('unpaid')
    const plain = await newCheckout(call, shop)
    expect((await press(call, plain, await guest(call), { answer: 'cancel' })).headers.get('location')).toBe(plain.url)
  })

  it('shows an alert about a wrong email or code, and keeps the page', {
    tags: 'everywhere',
  }, async () => {
    const { call, link } = await prepared(start)
    const reader = await guest(call)
    const wrong = await press(call, link, reader, { answer: 'continue', email: 'ada' })
    expect([wrong.status, alertIn(wrong)]).toEqual([400, 'Enter an email address, such as ada@example.test.'])
    expect(wrong.text).toContain('value="ada"')
    await press(call, link, reader, { answer: 'continue', email: 'ada@example.test' })
    const code = await mailedCode(call, 'ada@example.test')
    const refused = await press(call, link, reader, { answer: 'verify', code: wrongCode(code) }, 'code')
    expect([refused.status, alertIn(refused)]).toEqual([401, 'The code is wrong.'])
    expect(buttonsIn(refused)).toContain('Verify')
  })

  it('shows an alert about a failed payment, and offers to try again', async () => {
    const { call, link, payer, shop, deliverBy } = await prepared(start, { path: 'status/503/x' })
    const reader = await guest(call)
    const declined = { answer: 'card', payment_method_id: 'pm_card_chargeDeclinedInsufficientFunds' }
    const card = await press(call, link, reader, declined, 'card')
    expect([card.status, alertIn(card)]).toEqual([402, expect.stringContaining('insufficient funds')])
    expect(buttonsIn(card)).toEqual(['Pay', 'Cancel'])
    const none = await press(call, link, reader, { answer: 'card' }, 'card')
    expect([none.status, alertIn(none)]).toEqual([400, 'Pick a card.'])
    const short = { session: await newSession(call, 'poor@example.test') }
    const poor = await press(call, link, short, { answer: 'pay' })
    expect([poor.status, alertIn(poor)]).toEqual([402, expect.stringContaining('does not hold enough')])
    const undelivered = await press(call, link, payer, { answer: 'pay' })
    expect([undelivered.status, alertIn(undelivered)]).toEqual([502, expect.stringContaining('nothing was charged')])
    expect(buttonsIn(undelivered)).toEqual(['Pay', 'Cancel'])
    const charged = await press(call, link, reader, { answer: 'card', payment_method_id: 'pm_card_visa' }, 'card')
    expect([charged.status, alertIn(charged)]).toEqual([
      502,
      expect.stringContaining('your card is not charged a second time'),
    ])
    expect(textOf(charged)).toContain('Your card was already charged 2.00 USD')
    expect(charged.text).not.toContain('pm_card_visa')
    await deliverBy('ok')
    expect((await press(call, link, reader, { answer: 'card', payment_method_id: 'charged' })).status).toBe(303)
    expect(await cardMessages(call, 'card')).toHaveLength(2)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })

  it('refuses card numbers with a page', async () => {
    const { call, link } = await prepared(start)
    const form = { answer: 'card', payment_method_id: '4242424242424242' }
    const refused = await press(call, link, await guest(call), form, 'card')
    expect([refused.status, alertIn(refused)]).toEqual([400, expect.stringContaining('does not accept card numbers')])
    expectProblem(await post(call, link, await guest(call), form), 400, 'card_data_refused')
  })

  it('refuses programs as everywhere: codes', async () => {
    const { call, link } = await prepared(start)
    const reader = await guest(call)
    expectProblem(await post(call, link, reader, { answer: 'verify', code: '000000' }), 401, 'code_wrong')
    for (const wrong of ['', 'Pay', 'resend'])
      expect((await post(call, link, reader, { answer: wrong })).body).toMatchObject({ field: 'answer' })
    const mail = () => post(call, link, reader, { answer: 'continue', email: 'ada@example.test' })
    expect((await mail()).status).toBe(303)
    const code = await mailedCode(call, 'ada@example.test')
    await advance(call, '10m')
    expectProblem(await post(call, link, reader, { answer: 'verify', code }), 410, 'code_expired')
    for (let n = 0; n < 4; n++) expect((await mail()).status).toBe(303)
    expectProblem(await mail(), 429, 'too_many_codes')
    const newest = await mailedCode(call, 'ada@example.test')
    for (let n = 0; n < 5; n++) await post(call, link, reader, { answer: 'verify', code: wrongCode(newest) })
    expectProblem(await post(call, link, reader, { answer: 'verify', code: newest }), 429, 'too_many_tries')
  })

  it('refuses programs as everywhere: payments', async () => {
    const { call, at, link, payer, shop, deliverBy } = await prepared(start)
    const reader = await guest(call)
    const card = { answer: 'card', payment_method_id: 'pm_card_visa' }
    expectProblem(await post(call, { token: 'x' }, payer, { answer: 'pay' }), 404, 'not_found')
    expectProblem(await post(call, link, reader, { answer: 'pay' }), 401, 'sign_in_required')
    const poor = { session: await newSession(call, 'poor@example.test') }
    expectProblem(await post(call, link, poor, { answer: 'pay' }), 402, 'insufficient_funds')
    const declined = { answer: 'card', payment_method_id: 'pm_card_expired' }
    expectProblem(await post(call, link, reader, declined), 402, 'card_declined')
    const down = { answer: 'card', payment_method_id: 'pm_processor_down' }
    expectProblem(await post(call, link, reader, down), 502, 'processor_failed')
    const spoilt = await newCheckout(call, shop)
    for (let tries = 0; tries < 10; tries++) await post(call, spoilt, reader, declined)
    expectProblem(await post(call, spoilt, reader, card), 429, 'too_many_declines')
    const waiting = await press(call, spoilt, reader, { answer: 'card', payment_method_id: 'pm_card_visa' }, 'card')
    expect([waiting.status, alertIn(waiting)]).toEqual([429, expect.stringContaining('Try again in 15 minutes')])
    for (const [price, status, code] of [
      [0.25, 422, 'card_minimum'],
      [9007199254740, 400, 'amount_invalid'],
    ] as const) {
      await changeItem(call, shop, { price })
      expectProblem(await post(call, await newCheckout(call, shop), reader, card), status, code)
    }
    expectProblem(await post(call, link, payer, { answer: 'pay' }), 409, 'price_changed')
    await changeItem(call, shop, { price: 2, active: false })
    expectProblem(await post(call, link, payer, { answer: 'pay' }), 409, 'item_inactive')
    const { service_schema } = (await call('GET', '/v4/catalog/mine', { token: shop.seller.token })).body.items[0]
    const narrow = { type: 'object', properties: { topic: { const: 'fish' } }, required: ['topic'] }
    await changeItem(call, shop, { active: true, service_schema: narrow })
    expectProblem(await post(call, link, payer, { answer: 'pay' }), 422, 'arguments_refused')
    await changeItem(call, shop, { service_schema })
    await deliverBy('status/503/x')
    expectProblem(await post(call, link, payer, { answer: 'pay' }), 502, 'upstream_failed')
    await deliverBy('ok/{secret.TENANT}')
    expectProblem(await post(call, link, payer, { answer: 'pay' }), 502, 'parameter_unreadable')
    await deliverBy('ok')
    const lapsed = await newCheckout(call, shop)
    expect((await post(call, link, payer, { answer: 'pay' })).status).toBe(303)
    expectProblem(await post(call, link, reader, card), 409, 'checkout_paid')
    await setClock(call, at + DAY)
    expectProblem(await post(call, lapsed, reader, card), 410, 'checkout_expired')
  })

  it('refuses programs as everywhere: a card that may have been charged', async () => {
    const { call, link } = await prepared(start, { options: { limits: { cardMs: 300 } } })
    const reader = await guest(call)
    const slow = await press(call, link, reader, { answer: 'card', payment_method_id: 'pm_processor_slow' }, 'card')
    expect([slow.status, textOf(slow)]).toEqual([502, expect.stringContaining('has not confirmed the charge yet')])
    const card = { answer: 'card', payment_method_id: 'pm_card_visa' }
    expectProblem(await post(call, link, reader, card), 409, 'checkout_paying')
    expect(await cardMessages(call, 'card')).toHaveLength(1)
  })

  it("refuses another session's code", async () => {
    const { call, link } = await prepared(start)
    await press(call, link, await guest(call), { answer: 'continue', email: 'ada@example.test' })
    const code = await mailedCode(call, 'ada@example.test')
    expect((await press(call, link, await guest(call), { answer: 'verify', code })).status).toBe(401)
  })

  it('a guest who signs in later owns what their wallet pays, and a card pays for its holder', async () => {
    const { call, link, shop, deliverBy } = await prepared(start, { path: 'status/503/x' })
    const reader = await guest(call)
    expectProblem(await withCard(call, link, reader), 502, 'upstream_failed')
    await deliverBy('ok')
    const { email } = await newPayer(call, shop.seller, { balance: 2 })
    expect((await press(call, link, { session: await newSession(call, email) }, { answer: 'pay' })).status).toBe(303)
    await expect.poll(async () => (await cardMessages(call, 'refund')).map(({ status }) => status)).toEqual(['sent'])
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  })
})
