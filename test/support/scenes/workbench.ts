import type { Page } from 'playwright-core'

export const ARTICLE = 'QUOKKA.ARTICLE'

/** A seller with one article, and a reader who can pay for it. */
export const seed = {
  accounts: [{ name: 'Quokka Press' }],
  users: [{ email: 'mia@example.test', balance: 1 }],
  commodities: [{ account: 'Quokka Press', descriptor: ARTICLE, cost: 0.25 }],
}

/** Opens the workbench at a service with `seed`, and pays once. */
export async function payInWorkbench(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/`)
  await page.getByRole('button', { name: 'Pay as a reader' }).click()
  await page.getByRole('link', { name: `paid 0.25 USD for ${ARTICLE}` }).waitFor()
}

/** Waits until the workbench says something. */
export const said = (page: Page, text: string | RegExp): Promise<void> =>
  page.getByRole('status').filter({ hasText: text }).waitFor()

/** Opens a view by its name. */
export const visit = (page: Page, name: string): Promise<void> =>
  page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click()
