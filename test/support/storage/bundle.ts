import { build, type Plugin } from 'esbuild'

/** Leaves out fonts and the scripts of pages, which a storage does not need. */
export const noPages: Plugin = {
  name: 'no-pages',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\?(font|script|files)$/ }, ({ path }) => ({ path, namespace: 'no-pages' }))
    onLoad({ filter: /./, namespace: 'no-pages' }, () => ({ contents: 'export default ""' }))
  },
}

/** Bundles a source file and all that it imports into one file, which a process of its own runs. */
export async function bundleForNode(source: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    plugins: [noPages],
    logLevel: 'error',
  })
}
