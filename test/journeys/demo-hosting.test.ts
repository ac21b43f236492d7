import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { sandboxPages } from '../../sandbox/pages/pages.js'
import { demo } from '../../sandbox/seed/demo.js'
import { restOfArticle } from '../../sandbox/shop/article.js'
import { createService } from '../../src/index.js'
import { buy, offlineDemo, signInByPhone, visitDemo } from '../support/browser/offline-demo.js'
import { isWhole } from '../support/how-much.js'
import { journey, parts } from '../support/scenes/journey.js'

const { page: newPage } = journey()
const offline = offlineDemo()

const rest = restOfArticle[0] as string

test('the sandbox serves only the files of the demo', async () => {
  const { url } = await offline.sandbox()
  const look = async (path: string, init?: RequestInit) => {
    const answer = await fetch(new URL(path, url), { redirect: 'manual', ...init })
    await answer.arrayBuffer()
    return [answer.status, answer.headers.get('content-type')]
  }
  expect(await look('')).toEqual([200, 'text/html; charset=utf-8'])
  expect(await look('page.js')).toEqual([200, 'text/javascript; charset=utf-8'])
  expect(await look('worker.js', { method: 'HEAD' })).toEqual([200, 'text/javascript; charset=utf-8'])
  expect(await look('style.css')).toEqual([200, 'text/css; charset=utf-8'])
  for (const path of ['package.json', '..%2fpackage.json', 'toString', 'shop/till', 'pay/v4/dq'])
    expect([path, (await look(path))[0]]).toEqual([path, 404])
  expect((await look('', { method: 'POST' }))[0]).toBe(405)
  const moved = await fetch(url.slice(0, -1), { redirect: 'manual' })
  expect([moved.status, new URL(moved.headers.get('location') ?? '', url.slice(0, -1)).href]).toEqual([308, url])
})

test('the sandbox says what to do if the demo is not built', async () => {
  const service = createService({ sandbox: true, seed: demo.seed })
  for (const built of [undefined, new URL('file:///nowhere/')]) {
    const pages = sandboxPages({ service, demo, ...(built && { built }) })
    const answer = await pages.respond(new Request(`${service.baseUrl}/demo/`))
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('npm run build')])
  }
  await service.close()
})

test('the workbench links to the demo, which does not disturb the sandbox on the same origin', async () => {
  const hosted = await offline.sandbox()
  const page = await newPage()
  await page.goto(new URL('/#/connect', hosted.url).href)
  await page.getByRole('link', { name: 'Try it offline' }).click()
  const shown = await visitDemo(page, hosted)
  await signInByPhone(shown, shown.article)
  await shown.article.pay.click()
  await page.getByText(rest).waitFor()

  await page.goto(new URL('/shop', hosted.url).href)
  const shop = parts(page.frameLocator('#pay iframe'))
  await shop.open.click()
  await shop.email.fill(demo.payer.email)
  await shop.continue.click()
  await shop.code.fill(demo.payer.code)
  await shop.verify.click()
  expect(await shop.balance.textContent()).toBe('BALANCE 20.00 USD')
  await shop.pay.click()
  await page.getByText('Paid and validated: NEWS.ARTICLE, payment 1.').waitFor()

  const again = await visitDemo(page, hosted)
  await again.song.open.click()
  expect(await again.song.balance.textContent()).toBe('BALANCE 19.75 USD')
})

test('the demo works below any path of a plain file server', async () => {
  const page = await newPage()
  const hosted = await offline.files('/some/where/')
  const shown = await visitDemo(page, hosted)
  await page.context().setOffline(true)
  await hosted.close()
  await signInByPhone(shown, shown.song)
  await shown.song.pay.click()
  await shown.play.waitFor()
  await page.goto(`${hosted.url}index.html?from=here`)
  await shown.play.waitFor()
  await buy(shown.article)
  await page.getByText(rest).waitFor()
})

test('a newer release takes over from an open page, and shows its own files at the next visit', async () => {
  const page = await newPage()
  let release = ''
  const hosted = await offline.files('/demo/', (name, text) =>
    name === 'worker.js'
      ? `${text}${release && `//${release}`}`
      : text.replace('The Daily Farthing, offline', `$&${release}`),
  )
  const shown = await visitDemo(page, hosted)
  await signInByPhone(shown, shown.article)
  const listening = await page.evaluateHandle(() => ({
    changed: new Promise((resolve) =>
      navigator.serviceWorker.addEventListener('controllerchange', () => resolve(true)),
    ),
  }))
  release = ' 2'
  await page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready
    const { active } = registration
    // The browser looks for updates itself, a second after a frame opens. Who asks meanwhile gets the outcome of that look
    // (Service Workers, "Schedule Job"), which may have read the older release: so ask until the newer one is found.
    while (registration.active === active && !registration.installing && !registration.waiting)
      await registration.update()
  })
  expect(await listening.evaluate(({ changed }) => changed)).toBe(true)
  await shown.article.pay.click()
  await page.getByText(rest).waitFor()
  await page.reload()
  await page.getByText(rest).waitFor()
  expect(await page.title()).toBe('The Daily Farthing, offline 2')
})

const lacking: Record<string, [script: string, sentence: RegExp]> = {
  'a secure origin': [
    "Object.defineProperty(window, 'isSecureContext', { value: false })",
    /plain http.*https or on localhost/,
  ],
  'service workers': [
    "Object.defineProperty(Navigator.prototype, 'serviceWorker', { value: undefined })",
    /not run service workers.*private window/,
  ],
  'a database': [
    "IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError') }",
    /does not store data.*private window/,
  ],
  'Web Locks': ["Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })", /does not store data/],
  'the worker': [
    "ServiceWorkerContainer.prototype.register = async () => { throw new Error('No such file.') }",
    /could not be installed.*No such file/,
  ],
}
/** One that the page misses, one that the storage misses, and one that fails. */
const some = ['a secure origin', 'a database', 'the worker']
for (const [what, [script, sentence]] of Object.entries(lacking).filter(([what]) => isWhole || some.includes(what)))
  test(`without ${what}, a sentence says why there is no shop`, async () => {
    const page = await newPage()
    await page.addInitScript(script)
    await page.goto((await offline.files('/')).url)
    await page.getByRole('heading', { name: 'The shop cannot start' }).waitFor()
    expect(await page.getByRole('status').textContent()).toMatch(sentence)
  })

test('the page shows a status until the worker is installed', async () => {
  const page = await newPage()
  await page.addInitScript('ServiceWorkerContainer.prototype.register = () => new Promise(() => {})')
  await page.goto((await offline.files('/')).url)
  await page.getByRole('status').getByText('Setting up the shop on this device…').waitFor()
})

test('the worker is one file', async () => {
  const worker = await readFile(new URL('worker.js', offline.folder), 'utf8')
  expect(worker.match(/\b(require|import)\([`'"][^)]*\)/g)).toBeNull()
})

test('the page contains no paid content', async () => {
  const page = await readFile(new URL('page.js', offline.folder), 'utf8')
  expect(gzipSync(page).byteLength).toBeLessThan(14_000)
  expect(page).not.toContain(rest)
})
