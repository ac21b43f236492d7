// `node .ci/planted-failures.mjs`: plants failing tests for the commands that run tests, an import that no rule allows, and
// failing steps, and requires that the command fails and names what was planted. Whatever ends it, nothing planted stays.
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'

const FAILING = `import { expect, test } from 'vitest'\n\ntest('a planted test', () => expect('planted').toBe('found'))\n`
const THROWING = `throw new Error('planted, as the file loads')\n`
const IMPORTING = `import 'node:fs'\n`
/** Steps in turn, and two lanes beside them: one with a failing step, one that ends early. */
const STEPS = `echo "$0"
. .ci/steps.sh
failing() { count 'planted' false; count 'good' true; }
ending() { exit; }
beside failing
beside ending
count 'good' true
join_lanes
finish
`

/** @type {{ files: Record<string, string>, command: string[], says?: string }[]} */
const cases = [
  { files: { 'test/planted-1.test.ts': FAILING }, command: ['npm', 'test', '--'] },
  { files: { 'test/contract/planted-2.test.ts': THROWING }, command: ['npm', 'test', '--'] },
  // Of each kind that `npm test` leaves out.
  {
    files: {
      'test/package/planted-3.test.ts': FAILING,
      'test/faults/planted-4.test.ts': FAILING,
      'test/planted-5.all.test.ts': FAILING,
    },
    command: ['npm', 'run', 'test:all', '--'],
  },
  { files: { '.ci/planted-6.sh': STEPS }, command: ['bash'], says: '\n2 passed, 2 failed\n' },
  // Last, because those before would build again what holds a new source.
  { files: { 'src/base/planted-7.ts': IMPORTING }, command: ['npm', 'run', 'check:imports', '--'] },
]

const uproot = () => {
  for (const file of cases.flatMap(({ files }) => Object.keys(files))) rmSync(file, { force: true })
}
process.on('exit', uproot)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

/** Says what is wrong with a command, if anything. @param {(typeof cases)[number]} planted @returns {Promise<string[]>} */
async function faultsOf({ files, command, says = 'planted' }) {
  const paths = Object.keys(files)
  for (const [file, content] of Object.entries(files)) writeFileSync(file, content)
  const { code, output } = await run([...command, ...paths])
  for (const file of paths) rmSync(file)
  const shown = [...command, ...paths].join(' ')
  if (code === 0) return [`${shown}: ended with 0, although it fails.`]
  const missing = [...paths, says].filter((each) => !output.includes(each))
  if (missing.length > 0) return [`${shown}: failed, and does not say ${missing.join(' nor ')}:\n${output}`]
  process.stdout.write(`red, as it must be: ${shown}\n`)
  return []
}

/** @param {string[]} command @returns {Promise<{ code: number | null, output: string }>} */
function run([name = '', ...args]) {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, {
      env: { ...process.env, NO_COLOR: '1' },
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
