import type { Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import { openSite, registerWorker, stopWorkers, workerSite } from '../support/browser/worker-site.js'
import { howMuch } from '../support/how-much.js'
import { journey } from '../support/scenes/journey.js'

const { page } = journey()

/** A release of the shop, and the files that its server does not have now. */
let release = 1
let missing: readonly string[] = []
let isDown = false
/** The paths that were requested, but for the worker's script. */
let requested: string[] = []
beforeEach(() => {
  release = 1
  missing = []
  isDown = false
})

const shopPage = () => `<!doctype html><title>Shop ${release}</title><link rel="icon" href="data:,">
<link rel=stylesheet href="style.css"><script src='shop.js?of=${release}&amp;as=2'></script><!-- <script src="never.js"></script> -->
<script type="module" crossorigin src="../pay/micropay.js"></script><a href="other/">Other</a><iframe hidden></iframe>`

const own = workerSite(
  {
    '/own/shop/': ['text/html', shopPage],
    '/own/shop/style.css': ['text/css', () => `:root { --release: ${release} }`],
    '/own/shop/shop.js': ['text/javascript', () => `globalThis.shown = [${release}]`],
    '/own/shop/later.js': ['text/javascript', () => `shown.push(${release})`],
  },
  ({ url = '', socket }, response) => {
    const [path = ''] = url.split('?')
    if (isDown) socket.destroy()
    else if (missing.includes(path)) response.writeHead(404).end()
    else if (path === '/own/old/') response.writeHead(302, { location: '/own/shop/' }).end()
    if (path !== '/own/worker.js') requested.push(path)
    return isDown || response.writableEnded
  },
)

const workerNaming = (files: readonly string[]) =>
  `worker.js?${new URLSearchParams(files.map((file) => ['precache', file]))}`

/** A page whose worker stores files. */
async function stored(...files: readonly string[]): Promise<Page> {
  const shown = await page()
  await openSite(shown, own.origin)
  await registerWorker(shown, workerNaming(files))
  return shown
}

const open = (shown: Page, path = 'shop/') => shown.goto(`${own.origin}/own/${path}`)
const load = (shown: Page, script: string) => shown.addScriptTag({ url: `${own.origin}/own/shop/${script}` })
/** Of the page, and of the scripts that it has loaded. */
const releasesOf = async (shown: Page) => [await shown.title(), await shown.evaluate('shown')]

/** The paths of all stored files. */
const storedPaths = (shown: Page): Promise<string[]> =>
  shown.evaluate(async () => {
    const names = (await caches.keys()).filter((name) => name.startsWith('farthing files '))
    const lists = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()))
    return lists.flatMap((list) => list.map(({ url }) => url.slice(location.origin.length))).sort()
  })

/** The stored releases, by their scripts. */
const storedReleases = (shown: Page): Promise<string[]> =>
  shown.evaluate(async () => {
    const names = (await caches.keys()).filter((name) => name.startsWith('farthing files '))
    const scripts = await Promise.all(
      names.map((name) => caches.match('/own/shop/shop.js', { cacheName: name, ignoreSearch: true })),
    )
    return (await Promise.all(scripts.map(async (script) => (await script?.text())?.replace(/\D/g, '') ?? ''))).sort()
  })

test('a page, what its HTML loads and the named files are shown while the server is down', async () => {
  const shown = await stored('shop/', 'shop/later.js')
  expect(await storedPaths(shown)).toEqual([
    ...['/own/shop/', '/own/shop/later.js', '/own/shop/shop.js?of=1&as=2', '/own/shop/style.css'],
  ])
  isDown = true
  for (const path of ['shop/index.html?from=mail#top', 'shop/never/seen', 'shop/']) {
    await open(shown, path)
    expect(await shown.title()).toBe('Shop 1')
  }
  await load(shown, 'later.js')
  expect(await releasesOf(shown)).toEqual(['Shop 1', [1, 1]])
  expect(await shown.evaluate('getComputedStyle(document.body).getPropertyValue("--release").trim()')).toBe('1')
  // The service answers its own script, which the page loads too.
  expect(await shown.evaluate('typeof loadMicroPayments')).toBe('function')
  expect(await shown.evaluate(async () => (await fetch('../pay/v4/dq')).status)).toBe(200)
  expect(await storedPaths(shown)).toHaveLength(4)
})

test('without a network, only a page is answered by the page: neither a file nor a frame', async () => {
  const shown = await stored('shop/')
  isDown = true
  await open(shown)
  await expect(shown.evaluate(async () => (await fetch('never.json')).status)).rejects.toThrow('Failed to fetch')
  const framed = await shown.evaluate(async () => {
    const frame = document.querySelector('iframe') as HTMLIFrameElement
    frame.src = 'framed/'
    await new Promise((resolve) => (frame.onload = resolve))
    return frame.contentDocument?.title
  })
  expect(framed).not.toBe('Shop 1')
})

test('the visit after a new release stores it, the next one shows it, and no page has files of two', async () => {
  const shown = await stored('shop/', 'shop/later.js')
  release = 2
  await open(shown)
  await expect.poll(() => storedReleases(shown)).toEqual(['1', '2'])
  await load(shown, 'later.js')
  expect(await releasesOf(shown)).toEqual(['Shop 1', [1, 1]])
  isDown = true
  await open(shown)
  await load(shown, 'later.js')
  expect(await releasesOf(shown)).toEqual(['Shop 2', [2, 2]])
  isDown = false
  release = 3
  await open(shown)
  // A page of the release before the current one may still be open.
  await expect.poll(() => storedReleases(shown)).toEqual(['1', '2', '3'])
  release = 4
  await open(shown)
  await expect.poll(() => storedReleases(shown)).toEqual(['2', '3', '4'])
})

test('an open page finds a file that only its own release has', async () => {
  const shown = await stored('shop/')
  await open(shown)
  release = 2
  await open(shown)
  await expect.poll(() => storedReleases(shown)).toEqual(['1', '2'])
  isDown = true
  const other = await shown.context().newPage()
  await open(other)
  expect(await releasesOf(other)).toEqual(['Shop 2', [2]])
  await load(shown, 'shop.js?of=1&as=2')
  expect(await releasesOf(shown)).toEqual(['Shop 1', [1]])
})

test('a release that is not whole is not stored, and the older one stays', async () => {
  const shown = await stored('shop/')
  release = 2
  missing = ['/own/shop/style.css']
  requested = []
  await open(shown)
  await expect.poll(() => requested).toContain('/own/shop/style.css')
  await stopWorkers(shown)
  isDown = true
  await open(shown)
  expect(await releasesOf(shown)).toEqual(['Shop 1', [1]])
  expect(await storedReleases(shown)).toEqual(['1'])
})

test('a newer worker names other files, and the next page loads them', async () => {
  const shown = await stored('shop/')
  release = 2
  await shown.evaluate(
    (script) =>
      new Promise((resolve) => {
        navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true })
        void navigator.serviceWorker.register(script)
      }),
    workerNaming(['shop/', 'shop/later.js']),
  )
  isDown = true
  await open(shown)
  await load(shown, 'later.js')
  expect(await releasesOf(shown)).toEqual(['Shop 2', [2, 2]])
})

const refused: [string, string[], string[], RegExp][] = [
  ['a file is missing', ['shop/', 'shop/nothing.js'], [], /precache names .*nothing\.js, which answers 404\. Correct/],
  ['a file is elsewhere', ['old/'], [], /precache names .*old\/, which redirects to .*shop\/\. Name that URL\./],
  [
    'a page lacks its style',
    ['shop/'],
    ['/own/shop/style.css'],
    /The page .*shop\/ loads .*style\.css, which answers 404/,
  ],
]
test.each(howMuch(refused.slice(2), refused))(
  'nothing is installed if %s, and the console says which',
  async (_, files, lacking, sentence) => {
    missing = lacking
    const shown = await page()
    await openSite(shown, own.origin)
    shown.removeAllListeners('console')
    const said = shown.context().waitForEvent('console', (message) => message.text().startsWith('farthing:'))
    await expect(registerWorker(shown, workerNaming(files))).rejects.toThrow('could not be installed')
    expect((await said).text()).toMatch(sentence)
    expect(await storedPaths(shown)).toEqual([])
  },
)
