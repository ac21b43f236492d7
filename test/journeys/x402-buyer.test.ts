import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Call, caller } from '../support/api.js'
import { bundle } from '../support/browser/bundle.js'
import { openSite, registerWorker, workerSite } from '../support/browser/worker-site.js'
import type { PageBuyers } from '../support/browser/x402-buyer.page.js'
import { mockServiceWorker } from '../support/msw-release.js'
import { journey } from '../support/scenes/journey.js'
import { newPaidShop } from '../support/scenes/paid-calls.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { fundAddress, heldBy, newAccount } from '../support/scenes/x402.js'

/** Buyers in a browser, unmodified and bundled, whose sandbox is in the page or in its service worker. */

declare const buyers: PageBuyers

const { page: newPage } = journey()
const upstream = useUpstream()
const scripts = { buyer: '' }
beforeAll(async () => {
  scripts.buyer = await bundle('support/browser/x402-buyer.page.ts', 'esm')
})

/** Calls a service from a page. */
const callFrom = (page: Page, url: string): Call =>
  caller({
    url,
    fetch: async (request) => {
      const sent = { method: request.method, headers: [...request.headers], body: await request.text() }
      const { status, headers, text } = await page.evaluate(
        async ([url, { body, headers, method }]) => {
          const answer = await fetch(url, { method, headers, ...(body && { body }), credentials: 'omit' })
          return { status: answer.status, headers: [...answer.headers], text: await answer.text() }
        },
        [request.url, sent] as const,
      )
      return new Response(text || null, { status, headers })
    },
  })

let keys = 0

/** A funded key pays for an item by x402 and MPP, and then without a network in a shop of the page. */
async function expectPaid(page: Page, url: string): Promise<void> {
  const call = callFrom(page, url)
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
  const key = `0x${String(++keys).padStart(64, '8')}` as const
  const { address } = privateKeyToAccount(key)
  await fundAddress(call, address, 0.03)
  const delivered = { status: 200, text: '{"story":"The whole story."}', hasReceipt: true }
  const called = [`${url}/v4/catalog/items/${item.id}/call?city=Oslo`, key] as const
  expect(await page.evaluate((called) => buyers.byX402(...called), called)).toEqual(delivered)
  expect(await page.evaluate((called) => buyers.byMpp(...called), called)).toEqual(delivered)
  expect(await heldBy(call, address)).toBe(0.01)

  await page.context().setOffline(true)
  const shop = newAccount().address
  const inShop = () => page.evaluate((sold) => buyers.inShop(...sold), [`${url}/x402`, key, shop] as const)
  expect(await inShop()).toEqual({ status: 200, text: 'Sunny.', hasReceipt: true })
  expect([await heldBy(call, address), await heldBy(call, shop)]).toEqual([0, 0.01])
  expect(await inShop()).toMatchObject({ status: 402, text: expect.not.stringContaining('Sunny') })
}

describe("under MSW's handlers", () => {
  const html = '<!doctype html><title>A buyer</title><link rel="icon" href="data:,">'
  const tags = ['/page.js', '/buyer.js'].map((src) => `<script type="module" src="${src}"></script>`).join('')
  const site = createServer()
  let origin = ''
  beforeAll(async () => {
    const files: Record<string, string> = {
      '/page.js': await bundle('support/browser/msw.page.ts', 'esm'),
      '/buyer.js': scripts.buyer,
      '/mockServiceWorker.js': await mockServiceWorker(),
    }
    site.on('request', ({ url = '' }, response) => {
      const script = files[url]
      response.setHeader('content-type', script ? 'text/javascript; charset=utf-8' : 'text/html')
      response.end(script ?? html + tags)
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    origin = `http://localhost:${(site.address() as AddressInfo).port}`
  })
  afterAll(() => {
    site.closeAllConnections()
    site.close()
  })

  test('a buyer in the page pays, also without a network', async () => {
    const page = await newPage()
    await page.goto(origin)
    await page.locator('html[data-ready]').waitFor({ state: 'attached' })
    await page.waitForFunction('globalThis.buyers')
    await expectPaid(page, `${origin}/pay`)
  })
})

describe('in a service worker', () => {
  const own = workerSite({ '/own/buyer.js': ['text/javascript', () => scripts.buyer] })

  test('a buyer in the page pays, also without a network', async () => {
    const page = await newPage()
    await openSite(page, own.origin)
    await registerWorker(page, 'worker.js')
    await page.addScriptTag({ type: 'module', url: 'buyer.js' })
    await page.waitForFunction('globalThis.buyers')
    await expectPaid(page, `${own.origin}/own/pay`)
  })
})
