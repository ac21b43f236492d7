import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, describe, expect, test } from 'vitest'
import { keptBrowser } from '../support/browser/browser.js'
import { bundle } from '../support/browser/bundle.js'
import { howMuch } from '../support/how-much.js'
import type { IndexedDbPage, Spent } from '../support/storage/indexeddb-page.js'

const script = await bundle('support/storage/indexeddb-page.ts')
const server = createServer(({ url }, response) =>
  url === '/script.js'
    ? response.setHeader('content-type', 'text/javascript; charset=utf-8').end(script)
    : response
        .setHeader('content-type', 'text/html')
        .end('<!doctype html><title>A page</title><script type="module" src="/script.js"></script>'),
)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const browser = await keptBrowser()

/** Of the tests that need no database of their own. */
const shared = await browser.newContext()

afterAll(async () => {
  await shared.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

async function open(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto(origin)
  return page
}

/** Calls one of the functions that the page offers. */
const call = <N extends keyof IndexedDbPage>(
  page: Page,
  name: N,
  ...given: IndexedDbPage[N] extends (...given: infer P) => unknown ? P : never
): Promise<Awaited<ReturnType<Extract<IndexedDbPage[N], (...given: never) => unknown>>>> =>
  page.evaluate(([name, given]) => (globalThis as any).page[name](...(given as unknown[])), [
    name,
    given,
  ] as const) as never

describe('in Chromium,', async () => {
  const page = await open(shared)
  const titles = await page.evaluate<string[]>('page.titles')
  for (const [at, title] of titles.entries()) test(title, () => call(page, 'runCase', at))
})

test('two tabs and a worker together spend each of 200 vouchers once', async () => {
  const context = await browser.newContext()
  const [one, two] = [await open(context), await open(context)]
  await call(one, 'issue', 200)
  await call(one, 'holdBack', 3)
  const [inOne, inTwo, inWorker] = await Promise.all([
    call(one, 'spendAll', { who: 'one', count: 200 }),
    call(two, 'spendAll', { who: 'two', count: 200 }),
    call(two, 'spendAllInWorker', { who: 'worker', count: 200 }),
  ])
  const spent: Record<string, Spent> = { one: inOne, two: inTwo, worker: inWorker }

  const won = Object.values(spent).flatMap((done) => done.won)
  expect(won.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, id) => id))
  expect(Object.values(spent).reduce((sum, { lost }) => sum + lost, 0)).toBe(400)
  // That all three took part is what makes it a race.
  for (const done of Object.values(spent)) expect(done.won.length).toBeGreaterThan(0)
  const { rows } = (await call(two, 'exportState')) as any
  for (const [who, done] of Object.entries(spent))
    for (const id of done.won) expect(rows.vouchers[id]).toEqual({ id, spent: who })
  expect(Object.fromEntries(rows.balances.map(({ id, value }: any) => [id, value]))).toEqual({
    issuer: 0,
    ...Object.fromEntries(Object.entries(spent).map(([who, done]) => [who, done.won.length])),
  })
  await context.close()
})

test('a tab yields to another that declares more, and both continue', async () => {
  const context = await browser.newContext()
  const [older, newer] = [await open(context), await open(context)]
  await call(older, 'beOlder')
  await call(older, 'putBlobs', 0, 3, 10)
  expect(await call(newer, 'countBlobs', 'byTag')).toBe(3)
  await call(older, 'putBlobs', 3, 1, 10)
  expect(await call(newer, 'countBlobs', 'byTag')).toBe(4)
  await context.close()
})

test('a tab continues after the data of its site is cleared', async () => {
  const context = await browser.newContext()
  const page = await open(context)
  await call(page, 'putBlobs', 0, 3, 10)
  const devtools = await context.newCDPSession(page)
  await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' })
  expect(await call(page, 'countBlobs')).toBe(0)
  await call(page, 'putBlobs', 7, 2, 10)
  expect(await call(page, 'countBlobs', 'byTag')).toBe(2)
  await context.close()
})

describe('with a quota of 2 MB', () => {
  test('a write that does not fit is undone with an error, and the storage continues', async () => {
    const context = await browser.newContext()
    const page = await open(context)
    const devtools = await context.newCDPSession(page)
    await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 2e6 })
    await call(page, 'putBlobs', 0, 10, 1000)
    const before = await call(page, 'exportState')

    expect(await call(page, 'tryBlobs', 10, 200, 64_000)).toEqual({
      name: 'StorageFull',
      message: expect.stringMatching(/no more space.*nothing of this write was stored.*Then try again/),
    })
    expect(((await call(page, 'exportState')) as any).rows).toEqual(before.rows)

    await devtools.send('Storage.overrideQuotaForOrigin', { origin })
    expect(await call(page, 'tryBlobs', 10, 200, 64_000)).toBeUndefined()
    expect(await call(page, 'countBlobs')).toBe(210)
    await context.close()
  })
})

/** 4 MB, which take long enough to land that a kill comes meanwhile. */
const LANDING = 500

describe('a tab that is killed', () => {
  const kill = {
    closed: (_: BrowserContext, page: Page) => page.close({ runBeforeUnload: false }),
    crashed: async (context: BrowserContext, page: Page) => {
      const devtools = await context.newCDPSession(page)
      const crash = page.waitForEvent('crash')
      devtools.send('Page.crash').catch(() => {})
      await crash
    },
  }

  /** A crash is the harsher of the two. While rows land, both are always tried. */
  const unseen = howMuch([['crashed', kill.crashed] as const], Object.entries(kill))

  test.each(unseen)('releases the lock and keeps nothing if %s in the body of a write', async (_, end) => {
    const context = await browser.newContext()
    const [victim, other] = [await open(context), await open(context)]
    await call(victim, 'holdWrite')
    let isDone = false
    const write = call(other, 'putBlobs', 0, 3, 10).then(() => (isDone = true))
    await other.waitForTimeout(300)
    expect(isDone).toBe(false)
    await end(context, victim)
    await write
    expect(await call(other, 'countBlobs')).toBe(3)
    await context.close()
  })

  test.each(Object.entries(kill))('leaves all or none if %s while rows land', async (_, end) => {
    const context = await browser.newContext()
    const other = await open(context)
    const wholeMs = await call(other, 'timeLanding', LANDING)
    for (const share of howMuch([0.5], [0, 0.3, 0.6, 0.9])) {
      await call(other, 'clear')
      const victim = await open(context)
      await call(victim, 'startLanding', LANDING)
      await other.waitForTimeout(share * wholeMs)
      await end(context, victim)
      const left = await call(other, 'countBlobs')
      expect([0, LANDING]).toContain(left)
      expect(await call(other, 'tryBlobs', LANDING, 1, 10)).toBeUndefined()
    }
    await context.close()
  })

  test.each(unseen)('leaves all rows if %s after its write has resolved', async (_, end) => {
    const context = await browser.newContext()
    const [victim, other] = [await open(context), await open(context)]
    await call(victim, 'timeLanding', LANDING)
    await end(context, victim)
    expect(await call(other, 'countBlobs')).toBe(LANDING)
    await context.close()
  })
})
