import { afterAll, expect, it, onTestFinished, type TestContext } from 'vitest'
import { demo } from '../../../sandbox/seed/demo.js'
import { restOfArticle } from '../../../sandbox/shop/article.js'
import { startHost } from '../../support/browser/host.js'
import { offlineDemo } from '../../support/browser/offline-demo.js'
import { shopHtml, startSite } from '../../support/scenes/journey.js'
import { firefox, importFrom, need, npmPackages } from '../support/toolchain.js'

/** Firefox over WebDriver BiDi, by Puppeteer. Version 24 is its last that runs on Node 20. */
const VERSION = '24.43.1'

interface Launcher {
  launch(options: object): Promise<Browser>
}
interface Browser {
  newPage(): Promise<Page>
  close(): Promise<void>
}
interface Frame {
  locator(selector: string): Locator
  waitForSelector(selector: string): Promise<{ contentFrame(): Promise<Frame> } | null>
  waitForFunction(script: string): Promise<{ jsonValue(): Promise<unknown> }>
}
interface Page extends Frame {
  goto(url: string): Promise<unknown>
}
interface Locator {
  click(): Promise<void>
  fill(text: string): Promise<void>
  wait(): Promise<unknown>
}

const offline = offlineDemo()
let launched: Promise<Browser> | undefined
afterAll(async () => (await launched?.catch(() => undefined))?.close())

/** A page of the one Firefox of these tests. */
async function newPage(context: TestContext): Promise<Page> {
  const executablePath = await need(context, firefox())
  const packages = await need(context, npmPackages('puppeteer', { 'puppeteer-core': VERSION }))
  const { default: puppeteer } = await importFrom<{ default: Launcher }>(packages, 'puppeteer-core')
  launched ??= puppeteer.launch({ browser: 'firefox', executablePath, headless: true })
  return (await launched).newPage()
}

async function frameOf(page: Page, place: string): Promise<Frame> {
  const frame = await (await page.waitForSelector(`${place} iframe`))?.contentFrame()
  if (!frame) throw new Error(`${place} has no frame.`)
  return frame
}

/** The button with this name. */
const button = (frame: Frame, name: string) => frame.locator(`::-p-aria([name="${name}"][role="button"])`)

/** From the closed button to the payment, by a code that comes after it was asked for. */
async function pay(frame: Frame, closed: string, email: string, code: () => Promise<string>): Promise<void> {
  await button(frame, closed).click()
  await frame.locator('#email').fill(email)
  await button(frame, 'Continue').click()
  await frame.locator('#code').wait()
  await frame.locator('#code').fill(await code())
  await button(frame, 'Verify').click()
  // It ignores clicks until the reader has seen it for half a second.
  await frame.locator('button[aria-disabled=false] ::-p-text(Pay)').click()
}

it('Firefox: a reader signs in and pays in the frame of a page of another origin, and the seller is paid', async (context) => {
  const page = await newPage(context)
  const host = await startHost({ seed: demo.seed })
  onTestFinished(() => host.close())
  const site = await startSite(shopHtml(host))
  onTestFinished(() => site.close())
  await page.goto(site.url)
  await pay(await frameOf(page, '#pay'), 'Pay 0.25 USD', demo.payer.email, async () => demo.payer.code)
  // As text, because BiDi sends an object that is there twice only once.
  const heard = await page.waitForFunction('window.heard.length === 6 && JSON.stringify(window.heard)')
  expect(JSON.parse(`${await heard.jsonValue()}`)).toContainEqual({
    event: 'payment on document',
    detail: expect.objectContaining({ hash: demo.commodities.article, hostname: demo.payer.hostname }),
  })
  expect(await host.service.sandbox.ledger()).toMatchObject({ ok: true })
})

it('Firefox: a visitor installs the offline demo, and pays and reads on without the server', async (context) => {
  const page = await newPage(context)
  const hosted = await offline.files('/demo/')
  await page.goto(hosted.url)
  await frameOf(page, '#article')
  await hosted.close()
  await page.goto(hosted.url)
  const code = async () => {
    const script = `[...document.querySelectorAll('aside *')].map((node) => node.textContent).find((text) => /^\\d{6}$/.test(text))`
    return (await (await page.waitForFunction(script)).jsonValue()) as string
  }
  await pay(await frameOf(page, '#article'), 'Read on for 0.25 USD', demo.reader.email, code)
  const [rest = ''] = restOfArticle
  await page.waitForFunction(`document.body.textContent.includes(${JSON.stringify(rest)})`)
})
