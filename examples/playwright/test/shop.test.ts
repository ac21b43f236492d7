import { expect, type Page } from '@playwright/test'
import { type CodeFor, farthingTest } from 'farthing/playwright'
import { startShop } from '../server.js'
import seed from './seed.json' with { type: 'json' }

// #region scene
/** Each test has a sandbox with what the seed lists. The shop starts once, because its address stays the same. */
const test = farthingTest({ seed }).extend<{}, { shop: { url: string } }>({
  shop: [
    async ({ farthing }, use) => {
      const shop = await startShop(farthing.env)
      await use(shop)
      shop.close()
    },
    { scope: 'worker' },
  ],
})

test.beforeEach(({ page, shop }) => page.goto(shop.url))
// #endregion scene

// #region frame
/** What a reader finds in the payment frame. */
function frameOf(page: Page) {
  const frame = page.frameLocator('#pay iframe')
  return {
    open: frame.getByRole('button', { name: /^Read for 0\.25/ }),
    email: frame.getByRole('textbox', { name: 'Email' }),
    continue: frame.getByRole('button', { name: 'Continue', exact: true }),
    code: frame.getByRole('textbox', { name: 'Code' }),
    verify: frame.getByRole('button', { name: 'Verify', exact: true }),
    pay: frame.getByRole('button', { name: 'Pay', exact: true }),
    alert: frame.getByRole('alert'),
  }
}

/** Nobody gets a mail: `codeFor` reads its code in the sandbox. */
async function enterCode(page: Page, codeFor: CodeFor) {
  const frame = frameOf(page)
  await frame.open.click()
  await frame.email.fill('reader@example.test')
  await frame.continue.click()
  await frame.code.fill(await codeFor('reader@example.test'))
}

async function signIn(page: Page, codeFor: CodeFor) {
  await enterCode(page, codeFor)
  await frameOf(page).verify.click()
}
// #endregion frame

// #region pays
test('a reader signs in, pays and reads on', async ({ page, codeFor, sandbox }) => {
  await signIn(page, codeFor)
  await frameOf(page).pay.click()
  await expect(page.getByText('The whole story.')).toBeVisible()
  expect(await sandbox.ledger()).toMatchObject({ ok: true })
})
// #endregion pays

// #region once
test('a payment brings the story once', async ({ page, codeFor, request, shop }) => {
  await signIn(page, codeFor)
  const [sent] = await Promise.all([page.waitForRequest('**/unlock'), frameOf(page).pay.click()])
  await expect(page.getByText('The whole story.')).toBeVisible()
  const again = await request.post(`${shop.url}unlock`, { data: sent.postData() ?? '' })
  expect(again.status()).toBe(402)
})
// #endregion once

// #region clock
test('a code from twenty minutes ago is refused', async ({ page, codeFor, sandbox }) => {
  await enterCode(page, codeFor)
  await sandbox.advance('20m')
  const frame = frameOf(page)
  await frame.verify.click()
  await expect(frame.alert).toContainText('code')
})
// #endregion clock
