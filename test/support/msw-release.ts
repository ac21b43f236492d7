import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Plugin as EsbuildPlugin } from 'esbuild'
import type { Plugin } from 'vitest/config'

/** Where `msw` is found. `FARTHING_MSW` names a folder in which another release is installed: test/package/msw.test.ts does. */

const folder = process.env.FARTHING_MSW ?? join(import.meta.dirname, '../..')
const manifest = join(folder, 'package.json')
const { resolve } = createRequire(manifest)

/** The script of MSW's worker. */
export const mockServiceWorker = (): Promise<string> => readFile(resolve('msw/mockServiceWorker.js'), 'utf8')

const ofMsw = /^msw(\/|$)/

/** Has tests import that release. */
export const mswRelease = (): Plugin => ({
  name: 'msw-release',
  enforce: 'pre',
  resolveId(source) {
    return process.env.FARTHING_MSW && ofMsw.test(source) ? this.resolve(source, manifest) : undefined
  },
})

/** Likewise, in words of esbuild. */
export const mswInPage: EsbuildPlugin = {
  name: 'msw-release',
  setup: ({ onResolve, resolve }) =>
    onResolve({ filter: ofMsw }, ({ path, kind, resolveDir }) =>
      resolveDir === folder ? undefined : resolve(path, { kind, resolveDir: folder }),
    ),
}
