import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { restOfArticle } from '../../sandbox/shop/article.js'
import { journey, parts, signIn } from '../support/scenes/journey.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

const { host, page: newPage } = journey()

const rest = restOfArticle[0] as string

test('the shop shows the rest of its article for a payment, once', async () => {
  const service = await host()
  const page = await newPage()
  await page.goto(`${service.url}/shop`)
  expect(await page.content()).not.toContain(rest)
  const shown = parts(page.frameLocator('#pay iframe'))
  await signIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await page.getByText(rest).waitFor()
  await page.getByText('Paid and validated: NEWS.ARTICLE, payment 1.').waitFor()
  expect(await page.locator('iframe').count()).toBe(0)
  expect(await page.evaluate('document.documentElement.style.overflow')).toBe('')

  await page.reload()
  await page.getByText(rest).waitFor()
  await page.getByText('Paid and validated: NEWS.ARTICLE, payment 1.').waitFor()
  expect(await page.locator('iframe').count()).toBe(0)

  await service.call('POST', '/_sandbox/reset')
  await page.reload()
  await shown.open.waitFor()
  expect(await page.content()).not.toContain(rest)
})

test('the shop says why it stays locked', async () => {
  const service = await host()
  const page = await newPage()
  await page.goto(`${service.url}/shop`)
  await parts(page.frameLocator('#pay iframe')).open.waitFor()
  const pretend = () =>
    page.evaluate(`document.dispatchEvent(new CustomEvent('payment', { detail: { nonce: 'made up', timestamp: 1 } }))`)
  await pretend()
  const alert = page.getByRole('alert')
  await expect.poll(() => alert.textContent()).toContain('The article stays locked.')
  expect(await alert.textContent()).toContain('nonce_unknown')
  await page.route('**/shop/unlock', (route) => route.abort())
  await pretend()
  await expect
    .poll(() => alert.textContent())
    .toBe("The article stays locked. The shop's server did not answer. Reload this page.")
  expect(await page.content()).not.toContain(rest)
})

test('the shop shows an error if its button does not load', async () => {
  const service = await host()
  const page = await newPage()
  await page.route('**/v2/commodity/**', (route) => route.abort())
  await page.goto(`${service.url}/shop`)
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('Reload this page')
})

test("the shop's server accepts a proof of payment once, and nothing else", async () => {
  const { url, call } = await host()
  const payer = await newPayer(call, await newSeller(call), { balance: 2 })
  const { body: paid } = await call('POST', `/v4/payment/${demo.commodities.article}`, { token: payer.token })
  const proof = { nonce: paid.nonce, timestamp: paid.timestamp }
  const unlock = (body: object) => call('POST', '/shop/unlock', { body })
  const first = await unlock(proof)
  expect([first.status, first.body.paragraphs]).toEqual([200, restOfArticle])
  expect(first.headers.get('cache-control')).toBe('no-store')
  const refusals = [
    [proof, 400, 'nonce_used'],
    [{ ...proof, nonce: 'other' }, 400, 'nonce_unknown'],
    [{}, 400, 'field_invalid'],
    [{ nonce: 'a'.repeat(20_000) }, 413, 'body_too_large'],
  ] as const
  for (const [body, status, code] of refusals) {
    const refused = await unlock(body)
    expect([refused.status, refused.body.code]).toEqual([status, code])
  }
  const { body: song } = await call('POST', `/v4/payment/${demo.commodities.song}`, { token: payer.token })
  const other = await unlock({ nonce: song.nonce, timestamp: song.timestamp })
  expect([other.status, other.body.code]).toEqual([400, 'nonce_unknown'])
  const looked = await fetch(`${url}/shop/unlock`)
  expect([looked.status, looked.headers.get('allow')]).toEqual([405, 'POST'])
})

test('without the demo, its pages lead to the view of the workbench that shows the same', async () => {
  const { url } = await host({})
  const lead = async (path: string) => {
    const { status, headers } = await fetch(url + path, { redirect: 'manual' })
    return [path, status, headers.get('location')]
  }
  expect(await Promise.all(['/shop', '/phone', '/outbox'].map(lead))).toEqual([
    ['/shop', 303, '/#/try'],
    ['/phone', 303, '/#/inbox'],
    ['/outbox', 303, '/#/inbox'],
  ])
})

test('all other paths belong to the service', async () => {
  const { url } = await host()
  const status = async (path: string, init?: RequestInit) => (await fetch(url + path, init)).status
  expect(await status('/v4/openapi.json')).toBe(200)
  expect(await status('/shop/')).toBe(200)
  expect(await status('/shop', { method: 'HEAD' })).toBe(200)
  expect(await status('/', { method: 'POST' })).toBe(405)
  expect(await status('/nothing')).toBe(404)
  const { headers } = await fetch(url)
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
})
