import { expect, type Page, test } from '@playwright/test'
import { preview } from 'vite'

const code = '123456'

async function pay(page: Page) {
  const frame = page.frameLocator('#pay iframe')
  await frame.getByRole('button', { name: /^Pay 0\.25/ }).click()
  await frame.getByRole('textbox', { name: 'Email' }).fill(`reader+code${code}@example.test`)
  await frame.getByRole('button', { name: 'Continue', exact: true }).click()
  await frame.getByRole('textbox', { name: 'Code' }).fill(code)
  await frame.getByRole('button', { name: 'Verify', exact: true }).click()
  await frame.getByRole('button', { name: 'Pay', exact: true }).click()
  await expect(page.getByText('The whole story.')).toBeVisible()
}

// #region offline
test('after the first visit, a reader pays without a network and without a server', async ({ page, context }) => {
  const server = await preview({ preview: { port: 0, host: '127.0.0.1' } })
  const url = server.resolvedUrls?.local[0] ?? ''
  await page.goto(url)
  await expect(page.getByText('This shop works without a network.')).toBeVisible()
  await server.close()
  await context.setOffline(true)
  for (const path of ['', '?from=mail']) {
    await page.goto(url + path)
    await expect(page.getByText('This shop works without a network.')).toBeVisible()
  }
  expect(await page.evaluate(() => getComputedStyle(document.body.children[0] as Element).maxWidth)).toBe('640px')
  await pay(page)
})
// #endregion offline
