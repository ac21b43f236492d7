// `npm run release`: checks, builds, publishes with provenance, and tags what the newest heading of CHANGELOG.md names.
// With `--prepare` it dates that heading and writes its version into every file that names it.
// With `--dry-run` it changes nothing outside of `dist`.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { npm } from '../setup.mjs'
import { isLater, readReleases, withDate } from './changelog.mjs'
import { readVersions, writeVersions } from './versions.mjs'

const { values: options } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false }, prepare: { type: 'boolean', default: false } },
})
const { repository } = JSON.parse(readFileSync('package.json', 'utf8'))
const changelog = readFileSync('CHANGELOG.md', 'utf8')
const [newest, before] = readReleases(changelog)
if (newest === undefined) {
  process.stderr.write('release: CHANGELOG.md has no heading like "## 1.2.0". Describe the release under one.\n')
  process.exit(1)
}
const { version } = newest
const tag = `v${version}`

const checks = [
  'check',
  'test:all',
  'build',
  'interop',
  'check:api',
  'check:size',
  'check:package',
  'check:package-types',
]
/** What a release runs, in this order. The build has already run when npm publishes. */
const steps = [
  ...checks.map((script) => ['npm', 'run', script]),
  ['npm', 'publish', '--provenance', '--access', 'public', '--ignore-scripts'],
  ['git', 'tag', '--annotate', tag, '--message', `farthing ${version}`],
]

/** Returns the reasons why this checkout is not the release that CHANGELOG.md names. */
function findFaults() {
  const branch = read('git', 'rev-parse', '--abbrev-ref', 'HEAD')
  const others = readVersions().filter((file) => file.version !== version)
  const prepare = 'Run npm run release -- --prepare, and commit.'
  return [
    read('git', 'status', '--porcelain') !== '' && 'The working tree has uncommitted changes. Commit or stash them.',
    branch !== 'main' && `This is ${branch}, but releases start from main. Run git switch main.`,
    ...findVersionFaults(),
    !newest.isReleased && `CHANGELOG.md says that ${version} is not released. ${prepare}`,
    ...others.map((file) => `${file.path} names ${file.version}, but CHANGELOG.md names ${version}. ${prepare}`),
  ].filter(Boolean)
}

/** Returns the reasons why the version of the newest heading cannot be the next one. */
function findVersionFaults() {
  return [
    newest.text === '' && `CHANGELOG.md says nothing about ${version}. Describe the release under its heading.`,
    before &&
      !isLater(version, before.version) &&
      `CHANGELOG.md has ${version} above ${before.version}, which is not earlier.`,
    read('git', 'tag', '--list', tag) !== '' &&
      `The tag ${tag} exists. Give the next release a heading in CHANGELOG.md.`,
  ].filter(Boolean)
}

/** Dates the release, and writes its version into the files that name it. */
function prepare() {
  writeFileSync('CHANGELOG.md', withDate(changelog, new Date().toISOString().slice(0, 10)))
  writeVersions(version)
  tell(
    `${version} is in ${readVersions()
      .map(({ path }) => path)
      .join(', ')}. Commit, then run npm run release -- --dry-run.`,
  )
}

/** Returns the reasons why npm would not attest the build. */
function findProvenanceFaults() {
  return [
    repository === undefined &&
      'package.json has no "repository". Add it, because npm compares it with the repository of the build.',
    !process.env.GITHUB_ACTIONS &&
      !process.env.GITLAB_CI &&
      'npm attests only builds in GitHub Actions or GitLab CI. Run npm run release there.',
  ].filter(Boolean)
}

/** @param {string} command @param {string[]} args */
function read(command, ...args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) end([`${command} ${args.join(' ')} failed: ${error?.message ?? stderr.trim()}`])
  return stdout.trim()
}

/** @param {string[]} step */
function run(step) {
  tell(step.join(' '))
  const [file, ...args] = step[0] === 'npm' ? [...npm(), ...step.slice(1)] : step
  const { status } = spawnSync(file, args, { stdio: 'inherit', shell: file.endsWith('.cmd') })
  if (status !== 0) end([`"${step.join(' ')}" failed, see above. The steps after it did not run.`])
}

/** @param {string[]} faults @returns {never} */
function end(faults) {
  for (const fault of faults) tell(fault)
  process.exit(1)
}

/** @param {string} line */
const tell = (line) => process.stderr.write(`release: ${line}\n`)

const faults = options.prepare ? findVersionFaults() : findFaults()
const missing = findProvenanceFaults()
if (options.prepare) {
  if (faults.length > 0) end(faults)
  prepare()
} else if (options['dry-run']) {
  if (faults.length > 0) end(faults)
  run(['npm', 'pack', '--dry-run'])
  tell(`This was a dry run. A release of ${version} runs:`)
  for (const step of steps) tell(`  ${step.join(' ')}`)
  for (const fault of missing) tell(`It cannot run here yet: ${fault}`)
} else {
  if (faults.length + missing.length > 0) end([...faults, ...missing])
  for (const step of steps) run(step)
  tell(`${version} is published. Push its tag: git push origin ${tag}`)
}
