import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { EVERY_STATE_MS, expectAccessible, expectAccessibleToo } from '../support/browser/accessible.js'
import { tabTo, untilFocused } from '../support/browser/oidc-pages.js'
import { changeItem, newCheckout, newShop, type Sold, settled, statusOf, withCard } from '../support/scenes/checkout.js'
import { journey } from '../support/scenes/journey.js'
import { advance } from '../support/scenes/market.js'
import { mailedCode } from '../support/scenes/sign-in.js'
import { useUpstream } from '../support/scenes/upstream.js'

const { host, site, page: newPage } = journey()

const upstream = useUpstream()

/** A link to something that is sold, and a page of the shop's that payers come from and go back to. */
async function sold({ path = 'ok', ...item }: Sold & { path?: string } = {}) {
  const { url, call } = await host({})
  const shop = await newShop(call, `${upstream.url}/${path}`, item)
  const back = await site('<!doctype html><title>The shop</title><h1>The shop</h1>')
  const link = await newCheckout(call, shop, { success_url: `${back.url}done`, cancel_url: back.url })
  return {
    url,
    call,
    shop,
    link,
    back,
    deliverBy: (path: string) => changeItem(call, shop, { external_endpoint: `${upstream.url}/${path}` }),
  }
}

/** What people go by on the page: roles and names. */
const parts = (page: Page) => ({
  email: page.getByRole('textbox', { name: 'Email' }),
  code: page.getByRole('textbox', { name: 'Code' }),
  button: (name: 'Continue' | 'Verify' | 'Pay' | 'Cancel') => page.getByRole('button', { name, exact: true }),
  byCard: page.getByRole('link', { name: 'Pay by card' }),
  card: (name: string) => page.getByRole('radio', { name: new RegExp(`^${name}\\b`) }),
  balance: page.getByText(/^BALANCE \d\S* USD$/),
  paid: page.getByRole('heading', { name: 'Paid' }),
  onward: page.getByRole('link', { name: /^Go on to / }),
  alert: page.getByRole('alert'),
})

type Made = Awaited<ReturnType<typeof sold>>

async function signIn(page: Page, { call, shop }: Made): Promise<void> {
  const shown = parts(page)
  await shown.email.fill(shop.payer.email)
  await shown.button('Continue').click()
  await shown.code.waitFor()
  await shown.code.fill(await mailedCode(call, shop.payer.email))
  await shown.button('Verify').click()
  await shown.balance.waitFor()
}

for (const javaScriptEnabled of [true, false])
  test(`a payer pays from a wallet by keyboard alone, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`, async () => {
    const made = await sold()
    const { call, shop, link, back } = made
    const page = await newPage({ javaScriptEnabled })
    await page.goto(link.url)
    const shown = parts(page)
    // Without scripts the page cannot be asked what has the focus: the email is the first stop.
    if (javaScriptEnabled) await tabTo(page, 'email')
    else await page.keyboard.press('Tab')
    await page.keyboard.type(shop.payer.email)
    await page.keyboard.press('Enter')
    await untilFocused(shown.code)
    await page.keyboard.type(await mailedCode(call, shop.payer.email))
    await page.keyboard.press('Enter')
    await shown.balance.waitFor()
    expect(await shown.balance.innerText()).toBe('BALANCE 10.00 USD')
    // Past "Not you?".
    if (javaScriptEnabled) await tabTo(page, 'Pay')
    else for (let n = 0; n < 2; n++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await shown.paid.waitFor()
    await page.getByText('The whole story.').waitFor()
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
    await page.reload()
    await shown.paid.waitFor()
    await shown.onward.focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(`${back.url}done`)
    expect(await settled(call, shop)).toMatchObject({ payer: 8 })
  })

test('a payer with the link pays by card, and nobody else can pay or read afterwards', async () => {
  const { call, shop, link } = await sold()
  const page = await newPage()
  await page.goto(link.url)
  const shown = parts(page)
  await shown.byCard.click()
  await shown.card('pm_card_mastercard').check()
  await shown.button('Pay').click()
  await shown.paid.waitFor()
  await page.getByText('2.00 USD').waitFor()
  expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
  const other = await newPage()
  await other.goto(link.url)
  expect(await parts(other).alert.innerText()).toContain('This is already paid')
  expect(await other.locator('body').innerText()).not.toContain('The whole story.')
})

test('the page says why a card was declined, and another card pays', async () => {
  const { call, shop, link } = await sold()
  const page = await newPage()
  await page.goto(link.url)
  const shown = parts(page)
  await shown.byCard.click()
  await shown.card('pm_card_expired').check()
  await shown.button('Pay').click()
  await shown.alert.filter({ hasText: 'The reason: expired card.' }).waitFor()
  await shown.card('pm_card_visa').check()
  await shown.button('Pay').click()
  await shown.paid.waitFor()
  expect(await settled(call, shop)).toMatchObject({ seller: 2, issued: 12 })
})

test('a failed delivery charges nothing, and the next try pays', async () => {
  const made = await sold({ path: 'status/503/x' })
  const { call, shop, link, deliverBy } = made
  const page = await newPage()
  await page.goto(link.url)
  await signIn(page, made)
  const shown = parts(page)
  await shown.button('Pay').click()
  await shown.alert.filter({ hasText: 'Nothing was charged' }).waitFor()
  expect(await shown.balance.innerText()).toBe('BALANCE 10.00 USD')
  await deliverBy('ok')
  await shown.button('Pay').click()
  await shown.paid.waitFor()
  expect(await settled(call, shop)).toMatchObject({ seller: 2, payer: 8 })
})

test('pressing the button twice pays once', async () => {
  const made = await sold({ path: 'slow' })
  const page = await newPage()
  await page.goto(made.link.url)
  await signIn(page, made)
  const shown = parts(page)
  await shown.button('Pay').dblclick()
  await shown.paid.waitFor()
  expect(await settled(made.call, made.shop)).toMatchObject({ seller: 2, payer: 8 })
})

test('Cancel leads back to the shop from every step', async () => {
  const made = await sold()
  const page = await newPage()
  for (const step of ['', '?step=card']) {
    await page.goto(made.link.url + step)
    await parts(page).button('Cancel').click()
    await page.waitForURL(made.back.url)
  }
  await page.goto(made.link.url)
  await signIn(page, made)
  await parts(page).button('Cancel').click()
  await page.waitForURL(made.back.url)
})

test('an expired link says so and charges nothing', async () => {
  const { call, link } = await sold()
  const page = await newPage()
  await page.goto(link.url)
  await parts(page).email.fill('ada@example.test')
  await advance(call, '24h')
  await page.reload()
  expect(await parts(page).alert.innerText()).toContain('This checkout link has expired')
  expect(await page.getByRole('button').count()).toBe(0)
})

test('another site cannot frame the page', async () => {
  const { link } = await sold()
  const framing = await site(`<!doctype html><title>A trap</title><iframe src="${link.url}"></iframe>`)
  // A page of its own: that the console tells of it is what is asked.
  const page = await (await newPage()).context().newPage()
  const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
  await page.goto(framing.url)
  await refused
  expect(await page.frames()[1]?.getByRole('button').count()).toBe(0)
})

const LONG = { name: 'A very-long-name-of-something '.repeat(2).trim(), description: 'x'.repeat(300) }

test(
  'axe finds nothing serious in any step of paying',
  async () => {
    const made = await sold(LONG)
    const { call, shop, link, deliverBy } = made
    const page = await newPage()
    const shown = parts(page)
    const look = (state: string) => expectAccessible(page, state)
    const lookToo = (state: string) => expectAccessibleToo(page, state)
    await page.goto(link.url)
    await look('offer')
    await shown.button('Continue').click()
    await shown.alert.waitFor()
    await lookToo('refused')
    await page.goto(`${link.url}?step=card`)
    await look('card')
    await shown.card('pm_card_chargeDeclined').check()
    await shown.button('Pay').click()
    await shown.alert.waitFor()
    await look('declined')
    await deliverBy('status/503/x')
    await shown.card('pm_card_visa').check()
    await shown.button('Pay').click()
    await page.getByText('Your card was already charged 2.00 USD').waitFor()
    await lookToo('charged before')
    await page.goto(`${link.url}?step=email`)
    await shown.email.fill(shop.payer.email)
    await shown.button('Continue').click()
    await shown.code.waitFor()
    await look('code')
    await shown.code.fill(await mailedCode(call, shop.payer.email))
    await shown.button('Verify').click()
    await page.getByText('Your card was already charged 2.00 USD').waitFor()
    await lookToo('charged before they signed in')
    await page.goto((await newCheckout(call, shop)).url)
    await shown.balance.waitFor()
    await look('wallet')
    await shown.button('Pay').click()
    await shown.alert.waitFor()
    await lookToo('not delivered')
    await deliverBy('ok')
    await shown.button('Pay').click()
    await shown.paid.waitFor()
    await look('paid')
  },
  EVERY_STATE_MS,
)

test(
  'axe finds nothing serious in any state in which nobody can pay',
  async () => {
    const { url, call, shop, link } = await sold(LONG)
    const [changed, lapsed] = [await newCheckout(call, shop, { cancel_url: url }), await newCheckout(call, shop)]
    const page = await newPage()
    const look = (state: string) => expectAccessible(page, state)
    const lookToo = (state: string) => expectAccessibleToo(page, state)
    const paying = withCard(call, link, {}, 'pm_processor_slow')
    await expect.poll(() => statusOf(call, link)).toBe('paying')
    await page.goto(link.url)
    await page.getByRole('status').waitFor()
    await look('paying')
    expect((await paying).status).toBe(200)
    // The page looks again by itself.
    await parts(page).alert.waitFor()
    await look('paid by another')
    await changeItem(call, shop, { price: 3 })
    await page.goto(changed.url)
    await parts(page).button('Cancel').waitFor()
    await lookToo('price changed')
    await page.goto(`${url}/checkout/none`)
    await lookToo('unknown')
    await advance(call, '24h')
    await page.goto(lapsed.url)
    await lookToo('expired')
  },
  EVERY_STATE_MS,
)
