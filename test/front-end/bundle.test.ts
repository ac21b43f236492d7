import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Metafile } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type * as farthing from '../../src/index.js'

/** The most that a test of a page may load, in kB compressed by gzip. */
const LIMIT = 158.8

const root = fileURLToPath(new URL('../..', import.meta.url))
const shown = globalThis as { chunksOfFarthing?: string[] } // The first line of each chunk adds its URL.
let folder: string
let outputs: ReadonlyMap<string, Metafile['outputs'][string]>

beforeAll(async () => {
  // From here, the bundle finds MSW.
  folder = await mkdtemp(join(root, 'node_modules/.farthing-bundle-'))
  const { metafile } = await build({
    stdin: { contents: `export * from 'farthing'; export * from 'farthing/msw'`, resolveDir: root },
    // With the built package. The project's own settings lead to the sources.
    tsconfigRaw: '{}',
    absWorkingDir: root,
    outdir: folder,
    entryNames: 'page',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    minify: true,
    splitting: true,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    external: ['msw'],
    banner: { js: 'globalThis.chunksOfFarthing?.push(import.meta.url);' },
  })
  outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]))
  shown.chunksOfFarthing = []
})

afterAll(async () => {
  delete shown.chunksOfFarthing
  await rm(folder, { recursive: true })
})

test('a payment loads at most 158.8 kB, and nothing of MCP, OpenID Connect, pages, CSV and billing', async () => {
  const { createService } = (await import(pathToFileURL(join(folder, 'page.mjs')).href)) as typeof farthing // Bundled from it.
  const first = await loaded()
  expect(first.kB).toBeGreaterThan(50)
  expect(first.kB).toBeLessThan(LIMIT)
  const service = createService({ sandbox: true })
  const { users, commodities } = await service.sandbox.seed({
    accounts: [{ name: 'News' }],
    users: [{ email: 'ada@example.test', balance: 1 }],
    commodities: [{ account: 'News', descriptor: 'NEWS.ARTICLE', cost: 0.25 }],
  })
  const { accounts } = await service.sandbox.credentials()
  const call = async (path: string, authorization: string, body?: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await service.fetch(`/v4${path}`, { method: 'POST', headers, body: JSON.stringify(body ?? {}) })
    expect(answer.ok, path).toBe(true)
    return answer.json()
  }
  const tokenOf = async (
    kind: 'account' | 'user',
    client: { client_id: string; client_secret: string } | undefined,
  ) => {
    const basic = `Basic ${btoa(`${client?.client_id}:${client?.client_secret}`)}`
    return `Bearer ${(await call(`/${kind}/oauth/token`, basic)).access_token}`
  }
  const hash = commodities[0]?.hash
  const { nonce, timestamp } = await call(`/payment/${hash}`, await tokenOf('user', users[0]))
  await call(`/payment/${hash}/validate`, await tokenOf('account', accounts[0]), { nonce, timestamp })
  const paid = await loaded()
  expect(paid.kB).toBeLessThan(LIMIT)
  expect(paid.packages).toEqual(['@noble/hashes', 'canonicalize', 'itty-router', 'leven', 'sorted-btree'])
  await service.fetch('/v4/billing/plans')
  const billed = await loaded()
  expect(billed.kB).toBeGreaterThan(paid.kB)
  await service.close()
})

/** What was loaded until now. */
async function loaded(): Promise<{ kB: number; packages: string[] }> {
  const names = [...new Set(shown.chunksOfFarthing)].map((url) => basename(fileURLToPath(url)))
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name))))
  const inputs = names.flatMap((name) => Object.entries(outputs.get(name)?.inputs ?? {}))
  const packages = inputs.flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [/^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? ''] : [],
  )
  return {
    kB: texts.reduce((sum, text) => sum + gzipSync(text).length, 0) / 1000,
    packages: [...new Set(packages)].filter(Boolean).sort(),
  }
}
