import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { EVERY_STATE_MS, expectAccessible } from '../support/browser/accessible.js'
import { Subscriber, VISA } from '../support/scenes/billing.js'
import { elementHtml, journey, newPersona, openWithSession, parts, visit } from '../support/scenes/journey.js'
import { newSeller } from '../support/scenes/world.js'

/** Further pages, of the styles of those in accessibility.test.ts. */

const { host, site, page: newPage } = journey()

test('axe finds nothing serious in any step of a verification', { timeout: EVERY_STATE_MS }, async () => {
  const service = await host()
  const page = await newPage()
  const { hash } = await newPersona(service.call, { name: 'Press pass', description: 'Given to reporters.' })
  const shop = await site(elementHtml(service, { type: 'verify', options: { hash } }))
  const frame = await visit(page, shop.url)
  const shown = parts(frame, /^Verify Press/)
  await expectAccessible(page, 'closed')
  await openWithSession(service, shown, demo.payer.email)
  await shown.verify.click()
  await shown.alert.waitFor()
  await expectAccessible(page, 'held by none')
  await shown.cancel.click()
  await shown.open.click()
  await shown.verify.waitFor()
  await expectAccessible(page, 'signed in')
})

test('axe finds nothing serious in an invoice on screen and in print', { timeout: EVERY_STATE_MS }, async () => {
  const { call, url } = await host()
  const account = new Subscriber(call, await newSeller(call))
  await account.chosen('scale', VISA)
  const [{ id }] = await account.invoices()
  const page = await newPage()
  await page.setExtraHTTPHeaders({ authorization: `Bearer ${account.seller.token}` })
  await page.goto(`${url}/v4/billing/invoices/${id}.html`)
  await page.getByRole('rowheader', { name: 'Total' }).waitFor()
  await expectAccessible(page, 'invoice')
  await page.emulateMedia({ media: 'print' })
  const paper = 'getComputedStyle(document.querySelector("main")).backgroundColor'
  expect(await page.evaluate(paper)).toBe('rgb(255, 255, 255)')
  await expectAccessible(page, 'printed invoice')
})

test('axe finds nothing serious in the pages that explain errors', { timeout: EVERY_STATE_MS }, async () => {
  const { url } = await host()
  const page = await newPage()
  await page.goto(`${url}/docs/errors/token_invalid`)
  await page.getByText(/\d+ operations/).click()
  await expectAccessible(page, 'an error')
  await page.getByRole('link', { name: 'All errors' }).click()
  await page.getByRole('heading', { name: '400 Bad Request' }).waitFor()
  await expectAccessible(page, 'all errors')
  await page.goto(`${url}/docs/errors/unknown`)
  await expectAccessible(page, 'no such error')
})
