import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, FrameLocator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { demo } from '../../../sandbox/seed/demo.js'
import { changeItem, type Item, newItem } from '../scenes/catalog.js'
import { type Parts, parts, sellerToken } from '../scenes/journey.js'
import { keptBrowser } from './browser.js'
import { type Host, startHost } from './host.js'

/** A shop of another site whose page may do anything with its frame, and a reader who is signed in there. */
interface HostileShop {
  readonly service: Host
  readonly context: BrowserContext
  /** An item of the shop, for 0.25 unless `fields` say otherwise. */
  sell(fields?: object): Promise<Item>
  change(item: Item, fields: object): Promise<void>
  /** The shop's page with the frame of an item. */
  visit(item: Pick<Item, 'commodity_hash'>, options?: VisitOptions): Promise<Visited>
  /** Payments so far. */
  paid(): Promise<number>
  close(): Promise<void>
}

interface VisitOptions {
  /** A fixed style of the frame, which the page does not let grow. */
  readonly box?: string
  readonly path?: string
  /** Runs in the page and the frame before their own scripts. */
  readonly init?: string
}

export interface Visited {
  readonly page: Page
  readonly frame: FrameLocator
  readonly shown: Parts
  /** Runs a script in the page, which has the frame as `frame`. */
  act(script: string): Promise<unknown>
  /** The messages from the frame to the page, except those about its size. */
  told(): Promise<string[]>
}

/** Mounts a frame without the element, like other clients of the interface. */
const html = (src: string, box: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A shop</title><link rel="icon" href="data:,">
<style>body { margin: 0; font-family: sans-serif } #frame { border: 0; width: 137px; height: 48px }</style></head>
<body><h1>Win a prize</h1><input id="chat" aria-label="Chat"><div id="place"><iframe id="frame" title="Payment" allow="payment *" src="${src}"></iframe></div>
<script>
  window.said = []
  const grown = 'position:fixed;inset:0;width:100%;height:100%', box = ${JSON.stringify(box)}
  addEventListener('message', ({ source, data }) => {
    if (source !== frame.contentWindow) return
    if (!data.includes('Screen') && !data.startsWith('_TQMResize')) said.push(data)
    if (data === '_TQMFullScreen') frame.style.cssText = box || grown
    if (data === '_TQMRelativeScreen') frame.style.cssText = box
  })
</script></body></html>`

async function openHostileShop(): Promise<HostileShop> {
  const service = await startHost()
  await service.call('POST', '/_sandbox/seed', { body: demo.seed })
  await service.call('POST', '/_sandbox/fund', { body: { hostname: demo.payer.hostname, amount: 500 } })
  const seller = { token: await sellerToken(service.call) }
  const pages = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const text = html(searchParams.get('src') ?? '', searchParams.get('box') ?? '')
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(text)
  })
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  const origin = `http://localhost:${(pages.address() as AddressInfo).port}`
  const browser = await keptBrowser()
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } })
  context.setDefaultTimeout(60_000)
  const payments = async () => (await service.call('GET', '/_sandbox/ledger')).body.movements as number
  const seeded = await payments()

  const shop: HostileShop = {
    service,
    context,
    sell: (fields = {}) => newItem(service.call, seller, { service_schema: { type: 'object' }, ...fields }),
    async change(item, fields) {
      const { status } = await changeItem(service.call, seller, item, fields)
      if (status !== 200) throw new Error(`the item was not changed: ${status}`)
    },
    async visit({ commodity_hash }, { box = '', path = 'v2/embed', init = '' } = {}) {
      const page = await context.newPage()
      await page.addInitScript(init)
      const src = `${service.url}/${path}/${commodity_hash}`
      await page.goto(`${origin}/?${new URLSearchParams({ src, box })}`)
      const frame = page.frameLocator('#frame')
      return {
        page,
        frame,
        shown: parts(frame, /^(Pay|Get) .*\d/),
        act: (script) => page.evaluate(script),
        told: () => page.evaluate('said'),
      }
    },
    paid: async () => (await payments()) - seeded,
    async close() {
      await context.close()
      pages.closeAllConnections()
      await new Promise((resolve) => pages.close(resolve))
      await service.close()
    },
  }
  await signInOnce(shop)
  return shop
}

/** The session stays in the frame's storage, for every page of the shop. */
async function signInOnce(shop: HostileShop): Promise<void> {
  const { page, shown } = await shop.visit(await shop.sell())
  await shown.open.click()
  await signInAs(shown)
  await page.close()
}

export async function signInAs(shown: Parts): Promise<void> {
  await shown.email.fill(demo.payer.email)
  await shown.continue.click()
  await shown.code.fill(demo.payer.code)
  await shown.verify.click()
  await shown.balance.waitFor()
}

/** Opens a hostile shop for all tests of a file. Each test leaves only the page open that `keepOpen` returns. */
export function attackedFrame({ keepOpen }: { keepOpen?: () => Page | undefined } = {}) {
  let hostileShop: HostileShop | undefined
  let before = 0
  const shop = () => {
    if (!hostileShop) throw new Error('The shop is open only during a test.')
    return hostileShop
  }
  beforeAll(async () => {
    hostileShop = await openHostileShop()
  })
  afterEach(async () => {
    for (const page of shop().context.pages()) if (page !== keepOpen?.()) await page.close()
    before = await shop().paid()
  })
  afterAll(() => hostileShop?.close())
  return {
    shop,
    /** The number of payments in this test. */
    paidNow: async () => (await shop().paid()) - before,
    /** Counts the payments of this test from now on. */
    async countFromNow() {
      before = await shop().paid()
    },
    /** Opens the frame of an item for 0.25 up to its pay button. */
    async opened(options: VisitOptions = {}): Promise<Visited> {
      const visited = await shop().visit(await shop().sell(), options)
      await visited.shown.open.click()
      await visited.shown.balance.waitFor()
      return visited
    },
  }
}

export const isEnabled = (visited: Visited) => visited.shown.pay.isEnabled()

/** Waits, by fewer looks than a poll, until the pay button works or does not. */
export const expectEnabled = ({ frame }: Visited, enabled = true): Promise<void> =>
  frame
    .getByRole('button', { name: 'Pay', exact: true, disabled: !enabled, includeHidden: true })
    .waitFor({ state: 'attached' })

/** The middle of the pay button in the window. */
export async function middleOf({ shown }: Visited): Promise<[number, number]> {
  const box = await shown.pay.boundingBox()
  if (!box) throw new Error('Pay is not shown.')
  return [box.x + box.width / 2, box.y + box.height / 2]
}

export async function press({ page }: Pick<Visited, 'page'>, [x, y]: [number, number]): Promise<void> {
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.up()
}

/**
 * Lets a test stop the frame's clock with `holdClock`: however long a busy machine takes for what comes next, it all happens at
 * one moment.
 */
export const stoppable = {
  init: `{
    const now = performance.now.bind(performance), later = setTimeout, cancel = clearTimeout, waiting = new Map()
    const { get: stamp } = Object.getOwnPropertyDescriptor(Event.prototype, 'timeStamp')
    let skipped = 0, held = Infinity, last = 0
    const shown = (time) => Math.min(time - skipped, held)
    performance.now = () => shown(now())
    Object.defineProperty(Event.prototype, 'timeStamp', { get() { return shown(stamp.call(this)) } })
    window.setTimeout = (then, ms = 0, ...rest) => {
      const due = performance.now() + ms, id = ++last
      const look = () => performance.now() < due ? waiting.set(id, later(look, 20)) : then(...rest)
      waiting.set(id, later(look, ms))
      return id
    }
    window.clearTimeout = (id) => cancel(waiting.get(id))
    window.holdClock = () => { held = performance.now() }
    window.moveClock = (ms) => { held += ms }
    window.releaseClock = () => { skipped = now() - held; held = Infinity }
  }`,
}

/** The clock of a frame that is `stoppable`. */
async function clockOf({ page }: Pick<Visited, 'page'>, script: string): Promise<void> {
  const [frame] = page.mainFrame().childFrames()
  if (!frame) throw new Error('The page has no frame.')
  await frame.evaluate(script)
}

/** Stops the clock of the frame. */
export const holdClock = (visited: Pick<Visited, 'page'>) => clockOf(visited, 'holdClock()')

/** Moves the clock that stands still. */
export const moveClock = (visited: Pick<Visited, 'page'>, ms: number) => clockOf(visited, `moveClock(${ms})`)

/** Moves the clock that stands still past what an opened dialog waits for, up to when its pay button is shown. */
export async function moveUntilShown(visited: Visited): Promise<void> {
  await visited.shown.open.waitFor({ state: 'hidden' })
  await moveClock(visited, 250)
  await visited.shown.dialog.waitFor()
  await moveClock(visited, 400)
  await visited.shown.pay.waitFor()
}

/** Lets the clock run on from the time that it shows. */
export const releaseClock = (visited: Pick<Visited, 'page'>) => clockOf(visited, 'releaseClock()')

/** Long enough for a payment. */
export const SETTLED_MS = 300
