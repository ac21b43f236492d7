import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoCss } from '../../sandbox/demo/style.js'
import { sandboxPages } from '../../sandbox/pages/pages.js'
import { demo } from '../../sandbox/seed/demo.js'
import { coinIcon, coinSvg } from '../../src/http/pages/coin.js'
import { colorsOf, palette } from '../../src/http/pages/palette.js'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { Subscriber, VISA } from '../support/scenes/billing.js'
import { newCheckout, newShop } from '../support/scenes/checkout.js'
import { newPayback, newPersona } from '../support/scenes/journey.js'
import { newAgent, newApp, signInAt, startInteraction } from '../support/scenes/oidc.js'
import { newSeller, newSession } from '../support/scenes/world.js'

/** What all pages have in common: their colours, their coin, and how they write prices. */

const service = createService({ sandbox: true, seed: demo.seed, baseUrl: 'http://127.0.0.1:4242' })
const { respond } = sandboxPages({ service, demo })
const call = caller({ url: 'http://127.0.0.1:4242', fetch: (request) => respond(request, {}) })
const pages = new Map<string, string>()
let messages: { subject: string; text: string }[] = []

async function open(name: string, path: string, { session, token }: { session?: string; token?: string } = {}) {
  const credentials = { ...(session && { session }), ...(token && { token }) }
  const { text } = await call('GET', path, { ...credentials, headers: { accept: 'text/html' } })
  pages.set(name, text)
}

beforeAll(async () => {
  await open('shop', '/shop')
  await open('phone', '/phone')
  await open('a page that is not built', '/')
  await open('an error', '/docs/errors/insufficient_funds')
  await open('all errors', '/docs/errors')
  await open('no such error', '/docs/errors/none')
  await open('payment frame', `/v4/embed/${demo.commodities.article}`)
  await open('frame of nothing', '/v4/embed/none')
  await open('payback frame', `/v4/payback/embed/${(await newPayback(call)).hash}`)
  await open('verify frame', `/v4/verify/embed/${(await newPersona(call, { name: 'Press pass' })).hash}`)
  const shop = await newShop(call, 'https://api.example.test/story')
  const session = await newSession(call, shop.payer.email)
  const { token } = await newCheckout(call, shop)
  await open('checkout', `/checkout/${token}`, { session })
  await open('checkout by card', `/checkout/${token}?step=card`, { session })
  await open('no checkout', '/checkout/none')
  await open('sign-in', `/approvals/none`)
  const agent = await newAgent(call, { email: shop.payer.email })
  const wish = { kind: 'purchase', catalog_item_id: shop.item.id, arguments: { topic: 'birds' } }
  const { body } = await call('POST', '/v4/agent/approvals', { token: agent.accessToken, body: wish })
  await open('approval', `/approvals/${body.approval_id}`, { session })
  await open('no interaction', '/v4/oidc/auth?client_id=none')
  const asks = await startInteraction(call, await newApp(call))
  await open('sign-in of an app', asks)
  await open('consent', asks, await signInAt(call, asks, 'consent@example.test'))
  const account = new Subscriber(call, await newSeller(call))
  await account.chosen('scale', VISA)
  const [{ id }] = await account.invoices()
  await open('invoice', `/v4/billing/invoices/${id}.html`, { token: account.seller.token })
  await call('POST', '/v4/transfer', { token: shop.payer.token, body: { address: 'guest@example.test', amount: 0.5 } })
  messages = (await call('GET', '/_sandbox/outbox?limit=100')).body.messages
})
afterAll(() => service.close())

/** What a page says about colours, but for those of the palette. */
function ownColors(css: string): string[] {
  const known = (['light', 'dark', 'print'] as const).map(colorsOf)
  const rest = [...known, coinSvg, coinIcon].reduce((text, each) => text.replaceAll(each, ''), css)
  return rest.match(/#(?:[0-9a-f]{6}|[0-9a-f]{3,4})\b(?![\w-]*\s*[{.,:])|(?:rgb|hsl)a?\([^)]*\)/gi) ?? []
}

const stylesIn = (html: string): string =>
  [...html.replaceAll(coinSvg, '').matchAll(/<style>(.*?)<\/style>|\s(?:style|fill|stroke)="([^"]*)"/gs)]
    .map((found) => found[0])
    .join('\n')

/** Amounts that are not written as everywhere: `0.25 USD`. */
const oddAmounts = (text: string): string[] =>
  text.match(
    /[$€£]\s?\d+(?:\.\d+)?|\b(?:USD|COIN)\s\d+(?:\.\d+)?|(?<![\d.])\d+(?:\.\d|\.\d\d\d*0)?\s(?:USD|COIN)\b/g,
  ) ?? []

const textOf = (html: string): string =>
  html
    .replace(/<(head|script|style|svg)\b.*?<\/\1>/gs, ' ')
    .replace(/<\/?(?:span|bdi|strong|code)\b[^>]*>/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')

describe('every page', () => {
  test('was opened, and is the one that was meant', () => {
    const titles = [...pages].map(([name, html]) => [name, /<title>(.*?)<\/title>/.exec(html)?.[1]])
    expect(Object.fromEntries(titles)).toMatchObject({
      shop: 'The coin that was worth the trouble - The Daily Farthing',
      checkout: expect.stringMatching(/^Pay for /),
      approval: 'Approve a purchase',
      'sign-in': 'Sign in to answer',
      invoice: expect.stringMatching(/^Invoice/),
      'payment frame': 'Pay The Daily Farthing',
    })
    expect(titles.filter(([, title]) => title === undefined)).toEqual([])
  })

  test('has the colours of the palette, and no others', () => {
    const found = [...pages].flatMap(([name, html]) => ownColors(stylesIn(html)).map((color) => `${name}: ${color}`))
    expect(found).toEqual([])
    expect(ownColors(demoCss)).toEqual([])
  })

  test('has the coin as its icon', async () => {
    for (const [name, html] of pages) expect(html, name).toContain(`<link rel="icon" href="${coinIcon}"/>`)
    for (const [page, icon] of [
      ['demo', 'coin.svg'],
      ['workbench', 'workbench/coin.svg'],
    ]) {
      const built = await readFile(new URL(`../../sandbox/${page}/index.html`, import.meta.url), 'utf8')
      expect(built, page).toContain(`<link rel="icon" href="${icon}" type="image/svg+xml" />`)
    }
  })

  test('shows the coin, unless it is only a notice', () => {
    const without = [...pages].filter(([, html]) => !html.includes(`<span class="coin" aria-hidden="true">${coinSvg}`))
    expect(without.map(([name]) => name)).toEqual(['frame of nothing'])
  })

  test('writes amounts alike: 0.25 USD', () => {
    const texts = [...pages].map(([name, html]) => [name, textOf(html)] as const)
    const mails = messages.map(({ subject, text }) => ['a message', `${subject}\n${text}`] as const)
    for (const [name, text] of [...texts, ...mails]) expect(oddAmounts(text), name).toEqual([])
    const shown = [...texts, ...mails].filter(([, text]) => / USD\b/.test(text)).map(([name]) => name)
    expect(shown).toEqual(expect.arrayContaining(['checkout', 'approval', 'invoice', 'payment frame', 'a message']))
  })
})

test.each(['0.250 USD', '0.2 USD', '5 USD', '$0.25', 'USD 0.25'])('%s is not how amounts are written', (text) => {
  expect(oddAmounts(`It costs ${text}.`)).toEqual([text])
})

test.each(['0.25 USD', '0.125 USD', '10.00 USD'])('%s is', (text) =>
  expect(oddAmounts(`It costs ${text}.`)).toEqual([]),
)

test.each(['light', 'dark'] as const)('the palette can be read: %s', (theme) => {
  const { ground, card, code, edge, text, muted, primary, good, bad, warning, 'on-primary': onPrimary } = palette[theme]
  const onPaper = [text, muted, primary, good, bad, warning].flatMap((color) => [
    [color, ground] as const,
    [color, card] as const,
  ])
  const pairs: (readonly [string, string])[] = [...onPaper, [onPrimary, primary], [text, code]]
  expect(pairs.filter(([color, behind]) => contrast(color, behind) < 4.5)).toEqual([])
  expect(contrast(edge, card)).toBeGreaterThan(3)
})

/** WCAG 2, of two colours in six hex digits. */
function contrast(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
