import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, type TestContext } from 'vitest'
import { command, firefox, importFrom, need, npmPackages } from '../clients/support/toolchain.js'
import { launchBrowser } from '../support/browser/browser.js'
import { freePort, PAID, platformTests, shopProject, startServer } from './platforms/platform-tests.js'

/** Each browser pays in a page and in a service worker, from one bundle of the packed package. Both store in IndexedDB. */

/** Loads a page, and waits until its title says how it went. */
interface OpenPage {
  readonly version: string
  readonly title: () => Promise<string>
}

const runPage = (open: (context: TestContext, url: string) => Promise<OpenPage>) =>
  async function run({ context }: { readonly context: TestContext }): Promise<string> {
    const shop = await shopProject(context, ['esbuild@0.28'], ['page.mjs', 'page-worker.mjs'])
    const esbuild = ['npx', '--no-install', 'esbuild', '--bundle', '--outdir=out']
    await shop.run([...esbuild, 'page.mjs', '--format=esm'])
    await shop.run([...esbuild, 'page-worker.mjs', '--format=iife'])
    const { version, title } = await open(context, await startSite(join(shop.folder, 'out')))
    await expect.poll(title).not.toBe('waiting')
    expect(await title()).toBe(`${PAID}; ${PAID}`)
    return version
  }

/** Serves the bundles, and a page that has them. */
async function startSite(folder: string): Promise<string> {
  const page = '<!doctype html><title>waiting</title><script type="module" src="page.js"></script>'
  const site = createServer(async ({ url = '' }, response) => {
    const file = /^\/(page|page-worker)\.js$/.exec(url)?.[0]
    const type = file ? 'text/javascript' : 'text/html'
    response.writeHead(200, { 'content-type': type }).end(file ? await readFile(join(folder, file)) : page)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    site.close()
    site.closeAllConnections()
  })
  const { port } = site.address() as AddressInfo // It listens on a port.
  return `http://127.0.0.1:${port}/`
}

platformTests('browsers', {
  chromium: runPage(async (_, url) => {
    const browser = await launchBrowser()
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(url)
    return { version: browser.version(), title: () => page.title() }
  }),

  firefox: runPage(async (context, url) => {
    const executablePath = await need(context, firefox())
    // Version 24 is its last that runs on Node 20.
    const packages = await need(context, npmPackages('puppeteer', { 'puppeteer-core': '24.43.1' }))
    const { default: puppeteer } = await importFrom<{ default: Launcher }>(packages, 'puppeteer-core')
    const browser = await puppeteer.launch({ browser: 'firefox', executablePath, headless: true })
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(url)
    return { version: await browser.version(), title: () => page.title() }
  }),

  webkit: runPage(async (context, url) => {
    await need(context, command('WebKitWebDriver', ['--help']))
    await need(context, command('xvfb-run', ['--help']))
    const driver = `http://127.0.0.1:${await freePort()}`
    const port = `--port=${new URL(driver).port}`
    await startServer(['xvfb-run', '-a', 'WebKitWebDriver', '--host=127.0.0.1', port], { url: `${driver}/status` })
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await fetch(driver + path, { method, ...(body && { body: JSON.stringify(body) }) })
      const { value } = await answer.json()
      if (!answer.ok) throw new Error(value.message)
      return value
    }
    const { sessionId, capabilities } = await ask('POST', '/session', { capabilities: {} })
    const session = `/session/${sessionId}`
    onTestFinished(() => ask('DELETE', session))
    await ask('POST', `${session}/url`, { url })
    return { version: capabilities.browserVersion, title: () => ask('GET', `${session}/title`) }
  }),
})

interface Launcher {
  launch(options: object): Promise<Browser>
}
interface Browser {
  newPage(): Promise<{ goto(url: string): Promise<unknown>; title(): Promise<string> }>
  version(): Promise<string>
  close(): Promise<void>
}
