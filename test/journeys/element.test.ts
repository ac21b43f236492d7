import type { Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { howMuch } from '../support/how-much.js'
import { journey, shopHtml, visit } from '../support/scenes/journey.js'

const { host, site, page: newPage, lastingShop } = journey()

const secret = demo.account.public_secret
const create = (type: string, options: string) =>
  `loadMicroPayments('${secret}').elements().create('${type}', ${options})`
const mount = (place: string, options = `{ hash: '${demo.commodities.article}' }`) =>
  `${create('payment', options)}.mount(${place})`

const problems = [
  ['a missing secret', 'loadMicroPayments()', 'needs the public_secret of an account'],
  ['the secret of the server', `loadMicroPayments('mc_0')`, 'Keep the client_secret (mc_) on your server'],
  [
    'an unknown version',
    `loadMicroPayments('${secret}', { apiVersion: 'v9' })`,
    'apiVersion "v9" is unknown. Use v2 or v4',
  ],
  [
    'a type that does not exist',
    create('subscription', '{}'),
    '"subscription" is not an element type. Use one of payment, auth, payback, verify.',
  ],
  ['a name that is no type', create('toString', '{}'), '"toString" is not an element type'],
  ['a missing hash', create('payment', '{}'), 'create needs { hash } with the hash of a commodity'],
  ['a missing hash of a persona', create('verify', '{}'), 'create needs { hash } with the hash of a persona'],
  ['missing options', create('payment', ''), 'create needs { hash }'],
  ['a place that does not exist', mount(`'#nowhere'`), 'mount finds no element that matches "#nowhere"'],
  ['a hash that nothing has', mount(`'#pay'`, `{ hash: 'nothing' }`), 'there is no commodity with the hash "nothing"'],
  [
    'a persona that does not exist',
    `${create('verify', `{ hash: 'x' }`)}.mount('#pay')`,
    'there is no persona with the hash "x"',
  ],
  [
    'a second mount',
    `(async (el) => { el.mount('#pay'); await el.mount('#pay') })(${create('payment', `{ hash: '${demo.commodities.article}' }`)})`,
    'already mounted. Call destroy() first',
  ],
  ['a toggle of an unmounted element', `${create('payment', `{ hash: 'x' }`)}.toggle()`, 'this element is not mounted'],
  [
    'a service that cannot be reached',
    `loadMicroPayments('${secret}', { serviceUrl: 'http://127.0.0.1:1' }).elements().create('payment', { hash: 'x' }).mount('#pay')`,
    'cannot reach http://127.0.0.1:1',
  ],
] as const

test('the element explains what is wrong with its use', async () => {
  const { page } = await lastingShop()
  for (const [problem, code, message] of problems) {
    const said = await page.evaluate(`(async () => { try { await ${code} } catch (error) { return error.message } })()`)
    expect(said, problem).toContain(`MicroPayments: `)
    expect(said, problem).toContain(message)
  }
})

test('an unknown public_secret is an error in the console too, and the element can be mounted again', async () => {
  const { service, page } = await lastingShop()
  // Not the console itself, where an error fails every journey.
  const logged = `(async (element) => {
    const { error } = console
    const lines = []
    console.error = (line) => lines.push(line)
    for (let attempt = 0; attempt < 2; attempt++)
      await element.mount('#pay').catch(({ message }) => lines.push(message))
    console.error = error
    return lines
  })(loadMicroPayments('mp_unknown').elements().create('payment', { hash: '${demo.commodities.article}' }))`
  const says = `MicroPayments: no account at ${service.url} has the public_secret "mp_unknown". Pass the public_secret of your account there.`
  expect(await page.evaluate(logged)).toEqual([says, says, says, says])
})

test('loadMicroPayments returns its elements with and without await', async () => {
  const { page } = await lastingShop()
  const kinds = `(async () => [loadMicroPayments('${secret}'), await loadMicroPayments('${secret}')].map((each) => typeof each.elements().create))()`
  expect(await page.evaluate(kinds)).toEqual(['function', 'function'])
  expect(await page.evaluate(`loadMicroPayments('${secret}').then((api) => typeof api.elements)`)).toBe('function')
})

test('the element reads the commodity first, then shows the embed with the given options', async () => {
  const service = await host()
  const { article: hash } = demo.commodities
  const options = {
    hash,
    theme: 'dark',
    styles: { colorPrimary: 'teal' },
    leading: 'Read',
    middle: 'for',
    trailing: 'you',
    decimalPoints: 1,
  }
  const page = await newPage()
  const asked: string[] = []
  page.on('request', (request) => {
    if (request.url().startsWith(service.url)) asked.push(request.url().slice(service.url.length))
  })
  await visit(page, (await site(shopHtml(service, options))).url)
  const embed = new URL(service.url + asked[2])
  expect(asked.slice(0, 2)).toEqual(['/micropay.js', `/v2/commodity/${hash}?embed=false&public_secret=${secret}`])
  expect(embed.pathname).toBe(`/v2/embed/${hash}`)
  expect(Object.fromEntries(embed.searchParams)).toEqual({
    theme: 'dark',
    style: '{"colorPrimary":"teal"}',
    leading: 'Read',
    middle: 'for',
    trailing: 'you',
    decimalPoints: '1',
    once: 'true',
  })
  const frame = page.locator('iframe')
  expect(await frame.getAttribute('allow')).toBe('payment *')
  expect(await frame.getAttribute('title')).toBe('Payment: NEWS.ARTICLE')
  expect(await page.frameLocator('iframe').getByRole('button').textContent()).toBe('Read 0.3 USD for you')
})

test('the element uses the given version', async () => {
  const { service, page } = await lastingShop()
  const api = `loadMicroPayments('${secret}', { apiVersion: 'v4', serviceUrl: '${service.url}' })`
  const src = `(async (element) => {
    await element.mount('#pay')
    const { src } = document.querySelector('#pay iframe[src*="/v4/"]')
    element.destroy()
    return src
  })(${api}.elements().create('payment', { hash: '${demo.commodities.article}', repeat: true }))`
  expect(await page.evaluate(src)).toBe(`${service.url}/v4/embed/${demo.commodities.article}`)
})

test('an element destroyed while it is being mounted leaves nothing behind', async () => {
  const { page } = await lastingShop()
  await page.evaluate(`(async () => {
    const other = ${create('payment', `{ hash: '${demo.commodities.song}' }`)}
    const mounting = other.mount('#pay')
    other.destroy()
    await mounting
  })()`)
  expect(await page.locator(`iframe[src*="${demo.commodities.song}"]`).count()).toBe(0)
})

/** Long enough for the element to judge that its embed is silent. */
const JUDGED_MS = 1500

/** What an element said on the console of a page where `answer` stands in for the embed. */
async function saidOf(answer: (route: Route) => Promise<void>): Promise<string[]> {
  const service = await host()
  const page = await newPage()
  page.removeAllListeners('console')
  const said: string[] = []
  page.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource')) said.push(message.text().replace(service.url, ''))
  })
  await page.route(/\/embed\//, answer)
  await visit(page, (await site(shopHtml(service))).url)
  await page.waitForTimeout(JUDGED_MS)
  return said
}

const silent: [string, (route: Route) => Promise<void>][] = [
  ['that is another page', (route) => route.fulfill({ contentType: 'text/html', body: '<p>Welcome!</p>' })],
]
const alsoSilent: typeof silent = [
  ['that cannot be reached', (route) => route.abort('connectionrefused')],
  ['that is not found', (route) => route.fulfill({ status: 404, body: 'Not found' })],
]

test.each(howMuch(silent, [...silent, ...alsoSilent]))(
  'the element logs the address of an embed %s',
  async (_, answer) => {
    expect(await saidOf(answer)).toEqual([
      expect.stringMatching(
        `^MicroPayments: /v2/embed/${demo.commodities.article} does not show a payment embed\\. .* farthing/service-worker\\.$`,
      ),
    ])
  },
)

const late: [string, number] = ['late', JUDGED_MS]

test.each(howMuch([late], [['at once', 0], late]))(
  'the element logs nothing for an embed that loads %s',
  async (_, delay) => {
    const said = await saidOf(async (route) => {
      await new Promise((resolve) => setTimeout(resolve, delay))
      await route.continue()
    })
    expect(said).toEqual([])
  },
)

test('the element logs nothing for an embed that is removed before it loads', async () => {
  const service = await host()
  const page = await newPage()
  await page.route(/\/embed\//, (route) => route.abort('connectionrefused'))
  await visit(page, (await site(shopHtml(service))).url)
  await page.evaluate('element.destroy()')
  await page.waitForTimeout(JUDGED_MS)
  expect(await page.locator('iframe').count()).toBe(0)
})
