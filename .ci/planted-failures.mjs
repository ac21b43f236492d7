// `node .ci/planted-failures.mjs`: plants a failing test for each command that runs tests, and an import that no rule
// allows, and requires that the command fails and names what was planted. Whatever ends it, nothing planted stays.
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'

const FAILING = `import { expect, test } from 'vitest'\n\ntest('a planted test', () => expect('planted').toBe('found'))\n`
const THROWING = `throw new Error('planted, as the file loads')\n`
const IMPORTING = `import 'node:fs'\n`

/** @type {{ file: string, content: string, command: string[], env?: Record<string, string> }[]} */
const cases = [
  { file: 'test/planted-1.test.ts', content: FAILING, command: ['npm', 'test', '--'] },
  { file: 'test/attacks/planted-2.test.ts', content: FAILING, command: ['npx', '--no-install', 'vitest', 'run'] },
  { file: 'test/contract/planted-3.test.ts', content: THROWING, command: ['npx', '--no-install', 'vitest', 'run'] },
  { file: 'test/package/planted-4.test.ts', content: FAILING, command: ['npm', 'run', 'test:all', '--'] },
  {
    file: 'test/faults/planted-5.test.ts',
    content: FAILING,
    command: ['npx', '--no-install', 'vitest', 'run', '--project', 'faults'],
    env: { FARTHING_FAULTS: '1' },
  },
  {
    file: 'test/conformance/planted-6.test.ts',
    content: FAILING,
    command: ['npx', '--no-install', 'vitest', 'run'],
    env: { FARTHING_CONFORMANCE: 'planted' },
  },
  // Last, because those before would build again what holds a new source.
  { file: 'src/base/planted-7.ts', content: IMPORTING, command: ['npm', 'run', 'check:imports', '--'] },
]

const uproot = () => {
  for (const { file } of cases) rmSync(file, { force: true })
}
process.on('exit', uproot)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

/** Says what is wrong with a command, if anything. @param {(typeof cases)[number]} planted @returns {Promise<string[]>} */
async function faultsOf({ file, content, command, env = {} }) {
  writeFileSync(file, content)
  const { code, output } = await run([...command, file], env)
  rmSync(file)
  const shown = [...Object.entries(env).map((each) => each.join('=')), ...command, file].join(' ')
  if (code === 0) return [`${shown}: ended with 0, although ${file} fails.`]
  if (!output.includes(file) || !output.includes('planted')) return [`${shown}: failed for another reason:\n${output}`]
  process.stdout.write(`red, as it must be: ${shown}\n`)
  return []
}

/** @param {string[]} command @param {Record<string, string>} env @returns {Promise<{ code: number | null, output: string }>} */
function run([name = '', ...args], env) {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, {
      env: { ...process.env, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

const [imports, ...tests] = cases.toReversed()
const halves = [0, 1].map((half) => tests.filter((_, at) => at % 2 === half))
const found = await Promise.all(
  halves.map(async (half) => {
    const faults = []
    for (const planted of half) faults.push(...(await faultsOf(planted)))
    return faults
  }),
)
const faults = [...found.flat(), ...(imports ? await faultsOf(imports) : [])]
for (const fault of faults) process.stderr.write(`${fault}\n`)
process.exitCode = faults.length > 0 ? 1 : 0
