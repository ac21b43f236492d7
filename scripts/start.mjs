// `npm start`: sets up what is missing, then runs the built command in this process with the same arguments.
import nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { setUp } from './setup.mjs'

await setUp('cli')
// Node 22 caches the compiled command between starts.
nodeModule.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)))
await import('../dist/cli/farthing.js')
