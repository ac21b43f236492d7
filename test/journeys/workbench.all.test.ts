import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { codeFor, type Host, journey, parts } from '../support/scenes/journey.js'
import { payInWorkbench, said, seed, visit } from '../support/scenes/workbench.js'

/** A refusal that is fixed is in workbench-day.test.ts too, and a rehearsal in workbench.test.ts: here by other ways and widths. */

const { host, page: newPage } = journey()

/** The workbench in the state in which somebody has paid once. */
async function workbench(options?: Parameters<typeof newPage>[0]): Promise<{ service: Host; page: Page }> {
  const service = await host(seed)
  const page = await newPage(options)
  await payInWorkbench(page, service.url)
  return { service, page }
}

test('a reader who is short of funds pays after one click on the explanation', async () => {
  const { service, page } = await workbench()
  const shop = await page.context().newPage()
  await shop.goto(`${service.url}/shop`)
  expect(shop.url()).toBe(`${service.url}/#/try`)
  const element = parts(shop.frameLocator('.element iframe'))
  await element.open.click()
  await element.email.fill('noa@example.test')
  await element.continue.click()
  await visit(page, 'Inbox')
  const mail = page.getByRole('listitem').filter({ hasText: 'noa@example.test' }).last()
  await mail.getByRole('button', { name: 'Copy' }).waitFor()
  await element.code.fill(await codeFor(service.call, element, 'noa@example.test'))
  await element.verify.click()
  await element.pay.click()
  await element.alert.waitFor()
  await visit(page, 'Live')
  await page.getByRole('link', { name: 'tried to pay insufficient_funds' }).click()
  const detail = page.getByRole('region', { name: 'Request' })
  await detail.getByText('0.25 USD is missing.').waitFor()
  await detail.getByRole('button', { name: 'Fix it' }).click()
  await said(page, 'Fixed, and the request went through.')
  await page.getByText('balanced, 1.25 USD issued').waitFor()
})

test('a large matrix scrolls inside itself, with its calls and faults in sight, on a narrow screen', async () => {
  const { service, page } = await workbench({ viewport: { width: 360, height: 780 } })
  const kinds = [
    'lost_before',
    'lost_after',
    'error_before',
    'error_after',
    'slow',
    'twice',
    'price_changed',
    'restart',
  ]
  const cells = Array.from({ length: 15 }, (_, call) => `createAuthenticationRequest${call}`).flatMap((operation) =>
    kinds.map((kind) => ({ kind, operation, nth: 1, state: 'passed', diagram: '', stories: [] })),
  )
  const command = 'npm run test:integration -- --reporter verbose --shard 1/2'
  const body = { command, ok: true, runs: 150, plans: 900, random_seed: 7, findings: [], cells }
  await service.call('PUT', '/_sandbox/rehearsals/large', { body })
  await visit(page, 'Rehearse')
  const table = page.getByRole('table')
  await table.waitFor()
  const box = table.locator('..')
  const measured = await box.evaluate((element) => {
    element.scrollTo(200, 200)
    const { left, top } = element.getBoundingClientRect()
    const corner = element.querySelector('th')?.getBoundingClientRect()
    return {
      isPageWide: document.documentElement.scrollWidth > innerWidth,
      moved: [element.scrollLeft, element.scrollTop],
      corner: corner && [Math.round(corner.left - left), Math.round(corner.top - top)],
      isFirstColumnNarrow: corner && corner.width < 160,
    }
  })
  expect(measured).toEqual({ isPageWide: false, moved: [200, 200], corner: [1, 1], isFirstColumnNarrow: true })
})
