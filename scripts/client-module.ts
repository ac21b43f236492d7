import { cp, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
/** Outside of node_modules, where declarations are not written, and ignored by git. */
const stage = path('../.clients/build')

export const clientEntry = `${stage}/adapters/client.ts`

/**
 * Copies the sources of the client, with what `client-types.ts` writes in the place of its operations and shapes: so neither
 * the client nor its types hold the route table. The entry is `clientEntry`.
 */
export async function stageClient(): Promise<void> {
  const script = `${stage}/client-types.mjs`
  await build({
    entryPoints: [path('client-types.ts')],
    outfile: script,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'silent',
    plugins: [withoutAssets],
  })
  const { writeOperations, writeShapes } = (await import(
    pathToFileURL(script).href
  )) as typeof import('./client-types.js') // Bundled from it.
  for (const part of ['adapters/client.ts', 'adapters/client', 'src/composition/client-operation.ts'])
    await cp(path(`../${part}`), `${stage}/${part}`, { recursive: true })
  await writeFile(`${stage}/adapters/client/operations.ts`, writeOperations())
  await writeFile(`${stage}/adapters/client/shapes.ts`, writeShapes())
}

/** The table needs no scripts of pages and no fonts. */
const withoutAssets = {
  name: 'without-assets',
  setup(esbuild: import('esbuild').PluginBuild) {
    esbuild.onResolve({ filter: /\?(script|font|files)$/ }, ({ path: name }) => ({ path: name, namespace: 'asset' }))
    esbuild.onLoad({ filter: /.*/, namespace: 'asset' }, () => ({ contents: 'export default ""' }))
  },
}
