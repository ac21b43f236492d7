// Bundles workers as users do, from the built package, for their limits in .size-limit.json.
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = 'node_modules/.farthing-user-worker'

/** The worker of docs/guides/service-workers.md. @param {string} entry */
const workerOf = (entry) => `
  import { createService } from '${entry}'
  import { fire } from 'farthing/service-worker'
  import { indexedDbStorage } from 'farthing/storage/indexeddb'
  fire(createService({ storage: indexedDbStorage(), baseUrl: new URL('pay/', registration.scope).href, sandbox: true }))`

mkdirSync(folder, { recursive: true })
for (const name of ['slim', 'core'])
  await build({
    stdin: { contents: workerOf(`farthing/${name}`), resolveDir: root },
    // Not by our tsconfig.json, which leads to the sources.
    tsconfigRaw: '{}',
    absWorkingDir: root,
    outfile: `${folder}/${name}.js`,
    bundle: true,
    minify: true,
    format: 'iife',
    platform: 'browser',
  })
