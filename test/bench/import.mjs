// What `import('farthing/core')` takes in a fresh process, beside a process that imports nothing of ours but zod, and what it reads.
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { median } from './figures.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = fileURLToPath(new URL('../../dist/lib', import.meta.url))

/** Milliseconds, as the process itself sees them. */
function timed(name) {
  const code = `const began = performance.now(); await import('${name}'); console.log(performance.now() - began)`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`import('${name}') failed: ${stderr}`)
  return Number(stdout)
}

export async function importFigures({ rounds }) {
  const figures = []
  for (let round = 0; round < rounds * 5; round++) figures.push([timed('farthing/core'), timed('zod/mini')])
  const ms = median(figures.map(([own]) => own))
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'))
  const service = files.filter((name) => name.startsWith('service-')).map((name) => statSync(`${folder}/${name}`).size)
  const kB = service.reduce((sum, size) => sum + size, 0) / 1000
  return [
    {
      name: "import('farthing/core') / 120 ms",
      ratio: ms / 120,
      target: '<= 1',
      detail: `${ms.toFixed(0)} ms beside ${median(figures.map(([, zod]) => zod)).toFixed(0)} ms for zod/mini, whose parts it holds; ${kB.toFixed(0)} kB of the service, ${files.length} files in all`,
    },
  ]
}
