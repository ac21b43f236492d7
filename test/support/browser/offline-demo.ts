import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll } from 'vitest'
import { serve } from '../../../adapters/node.js'
import { sandboxPages } from '../../../sandbox/pages/pages.js'
import { demo } from '../../../sandbox/seed/demo.js'
import { createService } from '../../../src/index.js'
import { type Parts, parts } from '../scenes/journey.js'

export interface Hosted {
  /** Of the page, with its slash. */
  readonly url: string
  /** As a server does that goes down. */
  close(): Promise<void>
}

export interface OfflineDemo {
  readonly folder: URL
  /** Behind a sandbox, at `/demo/`. */
  sandbox(): Promise<Hosted>
  /** As files of a plain server, below a path; `change` may give another text for one. */
  files(path: string, change?: (name: string, text: string) => string): Promise<Hosted>
}

/** As `npm run build` makes it, which the setup of the tests does. */
const folder = new URL('../../../dist/demo/', import.meta.url)

/** The offline demo, for the tests of one file. What was served is closed with them. */
export function offlineDemo(): OfflineDemo {
  const open = new Set<Hosted>()
  afterAll(async () => {
    for (const each of open) await each.close()
  })
  const kept = (hosted: Hosted): Hosted => {
    open.add(hosted)
    return { ...hosted, close: () => (open.delete(hosted) ? hosted.close() : Promise.resolve()) }
  }
  return {
    folder,
    sandbox: async () => kept(await startSandbox()),
    files: async (path, change = (_, text) => text) => kept(await startFiles(path, change)),
  }
}

async function startSandbox(): Promise<Hosted> {
  let service: ReturnType<typeof createService> | undefined
  const served = await serve(
    (baseUrl) => {
      service = createService({ baseUrl, sandbox: true, seed: demo.seed })
      return sandboxPages({ service, demo, built: folder })
    },
    { port: 0 },
  )
  return {
    url: `${served.url}/demo/`,
    async close() {
      await served.close()
      await service?.close()
    },
  }
}

const types: Record<string, string> = { html: 'text/html', js: 'text/javascript', css: 'text/css' }

async function startFiles(path: string, change: (name: string, text: string) => string): Promise<Hosted> {
  const server = createServer(async ({ url = '' }, response) => {
    const name = url.startsWith(path) ? url.slice(path.length).replace(/\?.*/, '') || 'index.html' : '..'
    const text = await readFile(new URL(name, folder), 'utf8').catch(() => undefined)
    if (text === undefined) return response.writeHead(404).end()
    const type = `${types[name.replace(/.*\./, '')]}; charset=utf-8`
    return response.writeHead(200, { 'content-type': type }).end(change(name, text))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** What can be found on the demo's page, by the names that people hear. */
export function demoParts(page: Page) {
  const phone = page.getByRole('complementary', { name: "Wren's phone" })
  const bar = page.getByRole('contentinfo')
  const embed = (place: string) => parts(page.frameLocator(`${place} iframe`))
  return {
    headline: page.getByRole('heading', { level: 1 }),
    article: embed('#article'),
    song: embed('#song'),
    donation: embed('#support'),
    play: page.getByRole('button', { name: 'Play The Wren on the Coin' }),
    till: page.getByText("The shop's till"),
    tillRecords: page.getByRole('group').getByRole('list', { name: 'Payments' }).getByRole('listitem'),
    /** Of the newest mail. */
    code: phone
      .getByRole('list', { name: 'Mail' })
      .getByText(/^\d{6}$/)
      .first(),
    mails: phone.getByRole('list', { name: 'Mail' }).getByRole('listitem'),
    mailTab: phone.getByRole('tab', { name: 'Mail' }),
    walletTab: phone.getByRole('tab', { name: 'Wallet' }),
    wallet: phone.getByRole('region', { name: 'Wallet' }),
    records: phone.getByRole('list', { name: 'Payments' }).getByRole('listitem'),
    reset: bar.getByRole('button', { name: 'Reset', exact: true }),
    resetAll: page.getByRole('button', { name: 'Reset everything' }),
    save: bar.getByRole('button', { name: 'Save this state' }),
    open: bar.getByLabel('Open a state…'),
    said: bar.getByRole('status'),
    refused: bar.getByRole('alert'),
  }
}

export type DemoParts = ReturnType<typeof demoParts>

/** Opens the demo and waits until something can be bought. */
export async function visitDemo(page: Page, { url }: Pick<Hosted, 'url'>): Promise<DemoParts> {
  await page.goto(url)
  const shown = demoParts(page)
  // What can be bought however much was bought before.
  await shown.donation.open.waitFor()
  return shown
}

/** From the closed button to the step that pays, as the phone's owner, by the code that the phone shows. */
export async function signInByPhone(shown: DemoParts, element: Parts): Promise<void> {
  const before = await shown.mails.getByText(/^\d{6}$/).count()
  await element.open.click()
  await element.email.fill(demo.reader.email)
  await element.continue.click()
  await element.code.waitFor()
  await shown.mails
    .getByText(/^\d{6}$/)
    .nth(before)
    .waitFor()
  await element.code.fill((await shown.code.textContent()) as string)
  await element.verify.click()
  await element.balance.waitFor()
}

/** With a session. */
export async function buy(element: Parts): Promise<void> {
  await element.open.click()
  await element.balance.waitFor()
  await element.pay.click()
}
