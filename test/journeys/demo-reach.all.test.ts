import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { restOfArticle } from '../../sandbox/shop/article.js'
import { offlineDemo, visitDemo } from '../support/browser/offline-demo.js'
import { journey } from '../support/scenes/journey.js'

/** That the dialogs need no mouse is in payment.test.ts too: here with the demo's own page around them. */

const { page: newPage } = journey()
const offline = offlineDemo()

const rest = restOfArticle[0] as string

/** Presses Tab until this is focused, in the page or in a frame of it. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const focused = async () => {
    for (const frame of page.frames()) {
      const text = await frame.evaluate(() => {
        const at = document.hasFocus() ? document.activeElement : null
        return at instanceof HTMLIFrameElement
          ? ''
          : (at?.closest('label, button, a, summary, [id]')?.textContent ?? at?.id ?? '')
      })
      if (name.test(text)) return true
    }
    return false
  }
  for (let presses = 0; presses < 40; presses++) {
    if (await focused()) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not lead to ${name}`)
}

test('the demo works without a mouse', async () => {
  const page = await newPage()
  const shown = await visitDemo(page, await offline.sandbox())
  const press = (key: string) => page.keyboard.press(key)
  await tabTo(page, /^Read on for/)
  await press('Enter')
  await shown.article.email.waitFor()
  await page.keyboard.type(demo.reader.email)
  await press('Enter')
  await shown.article.code.waitFor()
  await shown.code.waitFor()
  await page.keyboard.type((await shown.code.textContent()) as string)
  await press('Enter')
  await expect.poll(() => shown.article.balance.textContent()).toBe('BALANCE 20.00 USD')
  await expect.poll(() => shown.article.pay.isEnabled()).toBe(true)
  await press('Enter')
  await page.getByText(rest).waitFor()

  await tabTo(page, /^Mail$/)
  await press('ArrowRight')
  await shown.wallet.getByText('19.75 USD').waitFor()
  await press('ArrowLeft')
  await shown.code.waitFor()
  await tabTo(page, /^Reset$/)
  await press('Enter')
  await page.getByRole('dialog').waitFor()
  await press('Escape')
  expect(await page.getByRole('dialog').count()).toBe(0)
  const chooser = page.waitForEvent('filechooser')
  await tabTo(page, /^Open a state/)
  await press('Enter')
  await (await chooser).setFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('?') })
  await shown.refused.waitFor()
  await tabTo(page, /^Reset$/)
  await press('Space')
  await tabTo(page, /^Reset everything$/)
  await press('Space')
  await shown.article.open.waitFor()
})
