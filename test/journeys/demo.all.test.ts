import { test } from 'vitest'
import { restOfArticle } from '../../sandbox/shop/article.js'
import { offlineDemo, signInByPhone, visitDemo } from '../support/browser/offline-demo.js'
import { stopWorkers } from '../support/browser/worker-site.js'
import { journey } from '../support/scenes/journey.js'

/** That a worker that stops loses nothing is in service-worker.test.ts too: here with the demo's worker. */

const { page: newPage } = journey()
const offline = offlineDemo()

test('the worker may stop at any time without a loss', async () => {
  const page = await newPage()
  const shown = await visitDemo(page, await offline.sandbox())
  await stopWorkers(page)
  await signInByPhone(shown, shown.article)
  await stopWorkers(page)
  await shown.article.pay.click()
  await page.getByText(restOfArticle[0] as string).waitFor()
  await stopWorkers(page)
  await shown.walletTab.click()
  await shown.wallet.getByText('19.75 USD').waitFor()
})
