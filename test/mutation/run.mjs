// `npm run test:mutation`: changes the rules of each feature in small ways, one at a time, and counts the changes that no test notices.
// `npm run test:mutation -- money payments/topups` does so for these. `--report` only shows what the last runs found.
// `--concurrency 1` leaves a busy machine more room, or lets two features run side by side.
// `--sample 0.1 --random 7` runs a tenth of the mutants, which the random number chooses, and records both.

import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { npm } from '../../scripts/setup.mjs'
import { features, filesOf } from './features.mjs'
import { scoresOf, survivorsOf } from './report.mjs'

/** A group below this score fails. */
const WANTED = 85

const { values, positionals } = parseArgs({
  options: {
    report: { type: 'boolean', default: false },
    concurrency: { type: 'string', default: '2' },
    sample: { type: 'string' },
    random: { type: 'string', default: '1' },
  },
  allowPositionals: true,
})
const chosen = Object.keys(features).filter(
  (feature) => positionals.length === 0 || positionals.some((start) => `${feature}/`.startsWith(`${start}/`)),
)
if (chosen.length === 0) {
  process.stderr.write(
    `No feature is called ${positionals.join(' or ')}. These are: ${Object.keys(features).join(', ')}.\n`,
  )
  process.exit(1)
}

/** Installs Stryker in this folder, unless it is there: a checkout without it has a sixth fewer files. */
function installStryker() {
  const here = fileURLToPath(new URL('.', import.meta.url))
  const changed = (/** @type {string} */ name) => statSync(`${here}${name}`, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (changed('node_modules/.package-lock.json') >= changed('package-lock.json')) return
  const [file = '', ...first] = npm()
  // Its runner takes the Vitest of the checkout.
  const args = [...first, 'ci', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync(file, args, { cwd: here, stdio: 'inherit', shell: file.endsWith('.cmd') })
}

/** Runs the tests of a feature against each of its mutants. Only what changed since the last run is run again. @param {string} feature */
async function mutate(feature) {
  const folder = `.mutation/${feature}`
  // For vitest.config.ts, in the processes that Stryker starts.
  process.env.FARTHING_MUTATION_TESTS = features[feature]?.join()
  const isSample = values.sample !== undefined
  const sample = JSON.stringify({ share: Number(values.sample), random: Number(values.random) })
  process.env.FARTHING_MUTATION_SAMPLE = sample
  mkdirSync(folder, { recursive: true })
  rmSync(`${folder}/report.json`, { force: true })
  const { Stryker } = await import('@stryker-mutator/core')
  const stryker = new Stryker({
    testRunner: 'vitest',
    plugins: [
      fileURLToPath(import.meta.resolve('@stryker-mutator/vitest-runner')),
      fileURLToPath(import.meta.resolve('./texts.mjs')),
      fileURLToPath(import.meta.resolve('./sample.mjs')),
    ],
    checkers: isSample ? ['sample'] : [],
    ignorers: ['texts'],
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
    mutate: [...filesOf(feature), '!**/{descriptions,problem-pages}.ts', '!**/*.client.*'],
    // What a module evaluates once, as it loads, is tables: routes, schemas, texts. Other tests read those as a whole.
    ignoreStatic: true,
    coverageAnalysis: 'perTest',
    concurrency: Number(values.concurrency),
    // On a busy machine a slow run is no endless one.
    timeoutMS: 30_000,
    // What is not in a sample has no result that a later run may take over.
    incremental: !isSample,
    incrementalFile: `${folder}/incremental.json`,
    tempDirName: `${folder}/tmp`,
    ignorePatterns: ['dist', 'docs/*', '!docs/guides', 'examples', '.mutation', '.farthing', '.clients'],
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: `${folder}/report.json` },
    disableTypeChecks: false,
    warnings: { slow: false },
  })
  await stryker.runMutationTest()
  if (isSample) writeFileSync(`${folder}/sample.json`, sample)
  else rmSync(`${folder}/sample.json`, { force: true })
}

/** Features whose tests fail without a mutant. The others run all the same, because a run takes hours. @type {string[]} */
const failed = []
if (!values.report) {
  installStryker()
  for (const feature of chosen)
    await mutate(feature).catch((/** @type {unknown} */ cause) => {
      failed.push(feature)
      console.error(cause)
    })
}
for (const survivor of chosen.flatMap(survivorsOf)) console.log(survivor)
const scores = scoresOf(chosen)
console.table(Object.fromEntries(scores.map(({ name, ...counts }) => [name, counts])))
// A report of nothing proves nothing.
if (failed.length > 0) console.error(`Not measured: ${failed.join(', ')}.`)
const holds =
  failed.length === 0 && scores.length > 0 && scores.every(({ name, score }) => name.includes('/') || score >= WANTED)
process.exitCode = holds ? 0 : 1
