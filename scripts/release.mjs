// `npm run release`: checks, builds, publishes with provenance, and tags. With `--dry-run` it changes nothing outside of `dist`.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { npm } from './setup.mjs'

const { values: options } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } })
const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8'))
const tag = `v${version}`

const checks = ['check', 'test', 'build', 'check:size', 'check:package', 'check:package-types']
/** What a release runs, in this order. The build has already run when npm publishes. */
const steps = [
  ...checks.map((script) => ['npm', 'run', script]),
  ['npm', 'publish', '--provenance', '--access', 'public', '--ignore-scripts'],
  ['git', 'tag', '--annotate', tag, '--message', `farthing ${version}`],
]

/** Returns the reasons why this checkout is not the release that package.json names. */
function findFaults() {
  const branch = read('git', 'rev-parse', '--abbrev-ref', 'HEAD')
  const heading = readFileSync('CHANGELOG.md', 'utf8')
    .split('\n')
    .find((line) => line === `## ${version}` || line.startsWith(`## ${version} `))
  return [
    read('git', 'status', '--porcelain') !== '' && 'The working tree has uncommitted changes. Commit or stash them.',
    branch !== 'main' && `This is ${branch}, but releases start from main. Run git switch main.`,
    heading === undefined && `CHANGELOG.md has no heading "## ${version}". Describe the release under it.`,
    heading?.includes('not released') && `CHANGELOG.md says that ${version} is not released. Replace that by the date.`,
    read('git', 'tag', '--list', tag) !== '' && `The tag ${tag} exists. Set the next version in package.json.`,
  ].filter(Boolean)
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

const faults = findFaults()
const missing = findProvenanceFaults()
if (options['dry-run']) {
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
