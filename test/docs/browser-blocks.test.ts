import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { keptBrowser } from '../support/browser/browser.js'
import { scratchFolder } from '../support/docs/folder.js'
import { blockTestedBy } from '../support/docs/markdown.js'

const scratch = scratchFolder()
const block = (page: string, holding: string) => blockTestedBy('test/docs/browser-blocks.test.ts', page, holding)

/** Bundles a script with the built package. */
async function bundled(name: string, format: 'esm' | 'iife'): Promise<string> {
  const entry = join(scratch(), name)
  // Not by our tsconfig.json, which leads to the sources.
  const tsconfigRaw = {}
  const { outputFiles } = await build({
    entryPoints: [entry],
    tsconfigRaw,
    bundle: true,
    write: false,
    format,
    platform: 'browser',
  })
  return outputFiles[0]?.text ?? ''
}

describe('In a browser, the documentation', () => {
  it('answers a page from a service in its worker', async () => {
    await writeFile(join(scratch(), 'worker.mjs'), block('docs/guides/service-workers.md', 'fire(service)'))
    await writeFile(
      join(scratch(), 'page.mjs'),
      `${block('docs/guides/service-workers.md', "register('worker.js')")}\nglobalThis.shown = digital_quantities`,
    )
    const scripts: Record<string, string> = {
      '/own/worker.js': await bundled('worker.mjs', 'iife'),
      '/own/page.js': await bundled('page.mjs', 'esm'),
    }
    const site = createServer(({ url = '' }, res) => {
      const type = scripts[url] === undefined ? 'text/html' : 'text/javascript'
      res.writeHead(200, { 'content-type': type }).end(scripts[url] ?? '<script type="module" src="page.js"></script>')
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    const page = await (await keptBrowser()).newPage()
    try {
      await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/own/`)
      await page.waitForFunction('globalThis.shown')
      expect(await page.evaluate('typeof loadMicroPayments')).toBe('function')
      expect(await page.evaluate('shown')).toEqual([expect.stringMatching(/^41[0-9a-f]{64}$/)])
    } finally {
      await page.close()
      site.closeAllConnections()
      site.close()
    }
  })
})
