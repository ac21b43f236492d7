// `npm run trust`: writes the parts of docs/trust.md that follow from the sources. `--check` only compares them.
// Other parts are measured, and keep their date: `--tests` runs all tests, `--report FILE` reads what Vitest's JSON reporter wrote,
// `--mutation` reads what `npm run test:mutation` found, `--simulator` what `npm run simulate` did, and `--benchmarks` runs the
// benchmarks.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, tmpdir, totalmem } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { features, shownName } from '../test/mutation/features.mjs'
import { sampleOf, scoresOf } from '../test/mutation/report.mjs'

const page = 'docs/trust.md'
const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean' },
    tests: { type: 'boolean' },
    report: { type: 'string' },
    mutation: { type: 'boolean' },
    simulator: { type: 'boolean' },
    benchmarks: { type: 'boolean' },
  },
})
const scratch = mkdtempSync(join(tmpdir(), 'farthing-trust-'))
process.on('exit', () => rmSync(scratch, { recursive: true }))

const contractReport = join(scratch, 'contract.json')

/** @param {readonly string[]} args @param {Record<string, string>} [env] */
const vitest = (args, env = {}) =>
  spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  }).status ?? 1

/** @param {readonly string[]} head @param {readonly (readonly (string | number)[])[]} rows */
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

/** When and where something was measured. */
function measured() {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const memory = Math.round(totalmem() / 2 ** 30)
  const load = Math.round(loadavg()[1])
  return [
    `Measured on ${new Date().toISOString().slice(0, 10)} at commit \`${commit}\`: ${cpus()[0]?.model.trim()}`,
    `${availableParallelism()} cores, ${memory} GiB of memory, Node ${process.versions.node}, ${process.platform}`,
    `load of the machine in the five minutes before: ${load}.`,
  ].join(', ')
}

/** @param {string} name @param {string} content */
function write(name, content) {
  const text = readFileSync(page, 'utf8')
  const marks = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- end of ${name} -->)`)
  writeFileSync(
    page,
    text.replace(marks, (_, begin, end) => `${begin}\n${measured()}\n\n${content}\n\n${end}`),
  )
}

/** How many tests of each folder passed, and of the contract in each runtime. @param {readonly string[]} reports */
function describeRuns(reports) {
  const passed = new Map()
  const add = (/** @type {string} */ name, /** @type {string} */ status) => {
    const counts = passed.get(name) ?? { passed: 0, failed: 0 }
    if (status === 'passed' || status === 'failed') counts[status]++
    passed.set(name, counts)
  }
  for (const { name, assertionResults } of reports.flatMap(
    (file) => JSON.parse(readFileSync(file, 'utf8')).testResults,
  )) {
    const [folder = '', ...rest] = relative('test', name).split(/[\\/]/)
    for (const { status, ancestorTitles } of assertionResults) {
      const [, runtime] = /\(([^()]+)\)$/.exec(ancestorTitles[0] ?? '') ?? []
      if (folder === 'contract') add(`the contract, ${runtime}`, status)
      else add(rest.length === 0 ? 'the project itself' : `\`test/${folder}/\``, status)
    }
  }
  const rows = [...passed].filter(([, { passed, failed }]) => passed + failed > 0).sort(([a], [b]) => (a < b ? -1 : 1))
  return table(
    ['tests', 'passed', 'failed'],
    rows.map(([name, { passed, failed }]) => [name, passed, failed]),
  )
}

/** Returns how many tests of the contract saw an answer of each operation. They run in this process alone. */
function countTests() {
  const file = join(scratch, 'calls')
  const json = ['--reporter=default', '--reporter=json', `--outputFile.json=${contractReport}`]
  const args = ['test/contract/', '-t', String.raw`\(in process\)`, ...json]
  if (vitest(args, { FARTHING_TRUST_CALLS: file }) !== 0) throw new Error('The contract does not hold, see above.')
  const counts = new Map()
  for (const line of new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean))) {
    const [id] = line.split('\t')
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return Object.fromEntries([...counts].map(([id, count]) => [id, String(count)]))
}

function describeMutation() {
  const scores = scoresOf(Object.keys(features))
  const measuredParts = new Set(scores.map(({ name }) => name))
  const missing = Object.keys(features).filter((feature) => !measuredParts.has(feature))
  const rows = scores.map(({ name, killed, survived, ignored, score }) => {
    const shown = name.includes('/') ? shownName(name) : `**${shownName(name)}**`
    const sample = sampleOf(name)
    const part = sample ? `${Math.round(sample.share * 100)} %, chosen by ${sample.random}` : 'all'
    return [shown, name.includes('/') ? part : '', killed, survived, ignored, score.toFixed(1)]
  })
  const rest = missing.length > 0 ? `\n\nNot measured: ${missing.map(shownName).join(', ')}.` : ''
  return `${table(['rules', 'changes', 'noticed', 'survived', 'not counted', 'score'], rows)}${rest}`
}

/** What the last `npm run simulate` saw. */
function describeSimulator() {
  const { seeds, hours, calls, faults, seen } = JSON.parse(readFileSync('.simulator/results.json', 'utf8'))
  const figures = table(['runs', 'simulated hours', 'calls', 'faults'], [[seeds, hours, calls, faults]])
  return `${figures}\n\n${table(['what happened', 'times'], Object.entries(seen))}`
}

function describeBenchmarks() {
  // It ends with 1 if a request became dearer than at an earlier commit: the page says so.
  const { stdout: lines } = spawnSync(process.execPath, ['test/bench/run.mjs'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const rows = [...lines.matchAll(/^ *(\S+) {2}\(aim (.+?)\) {2}(.+?): (.+)$/gm)].map(
    ([, ratio, aim, what, detail]) => [what, ratio, aim, detail],
  )
  return table(['what', 'ratio', 'aim', 'measured'], rows)
}

if (options.check) process.exit(vitest(['test/trust.test.ts']))

const report = options.report ?? (options.tests ? join(scratch, 'report.json') : undefined)
// The page says how many tests fail. The command fails too.
const ran = options.tests ? vitest(['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]) : 0
if (report !== undefined && !existsSync(report)) throw new Error(`There is no ${report}.`)
const counts = report === undefined ? {} : { FARTHING_TRUST_COUNTS: JSON.stringify(countTests()) }
const status = vitest(['test/trust.test.ts'], { ...counts, FARTHING_WRITE_TRUST: '1' })
// A report of a part of the tests may lack the contract, which has just run in this process.
const isWhole = report !== undefined && readFileSync(report, 'utf8').includes('/test/contract/')
if (report !== undefined) write('runs', describeRuns(isWhole ? [report] : [report, contractReport]))
if (options.mutation) write('mutation', describeMutation())
if (options.simulator) write('simulator', describeSimulator())
if (options.benchmarks) write('benchmarks', describeBenchmarks())
process.exitCode = status || ran
