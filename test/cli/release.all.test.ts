import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { howMuch } from '../support/how-much.js'

const script = fileURLToPath(new URL('../../scripts/publish/release.mjs', import.meta.url))
const manifest = { name: 'small', version: '1.2.0', repository: 'github:example/small', files: ['index.js'] }

/** Notes what it was asked for, and fails where it is told to. It publishes nothing. */
const fakeNpm = `
const asked = process.argv.slice(2).join(' ')
require('node:fs').appendFileSync(process.env.RAN, asked + '\\n')
process.exit(asked === process.env.NPM_FAILS ? 1 : 0)`

let folder: string
let project: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farthing-release-'))
  project = join(folder, 'project')
  await mkdir(project)
  await writeFile(join(folder, 'npm-cli.js'), fakeNpm)
  await git('init', '--quiet', '--initial-branch', 'main')
  await write({
    'package.json': JSON.stringify(manifest),
    'CHANGELOG.md': '# Changelog\n\n## 1.2.0\n\nIt is smaller.\n',
    'index.js': '',
  })
  await commit()
})

afterEach(() => rm(folder, { recursive: true }))

/** As someone, and by no settings of this machine. */
const author = Object.fromEntries(
  ['AUTHOR', 'COMMITTER'].flatMap((role) => [
    [`GIT_${role}_NAME`, 'Ada'],
    [`GIT_${role}_EMAIL`, 'ada@example.test'],
  ]),
)
const gitSettings = { ...author, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }

const git = async (...args: string[]) =>
  (await promisify(execFile)('git', args, { cwd: project, env: { ...process.env, ...gitSettings } })).stdout.trim()

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(project, name), text)
}

async function commit(): Promise<void> {
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'change')
}

function release(args: string[] = [], env: Record<string, string> = {}) {
  return new Promise<{ code: number | null; stdout: string; lines: string[] }>((resolve) => {
    const given = {
      npm_execpath: join(folder, 'npm-cli.js'),
      RAN: join(folder, 'ran'),
      GITHUB_ACTIONS: '',
      GITLAB_CI: '',
    }
    const child = spawn(process.execPath, [script, ...args], {
      cwd: project,
      env: { ...process.env, ...gitSettings, ...given, ...env },
    })
    const output = { stdout: '', stderr: '' }
    child.stdout.on('data', (text) => (output.stdout += text))
    child.stderr.on('data', (text) => (output.stderr += text))
    child.on('close', (code) => {
      const lines = output.stderr.split('\n').filter((line) => line.startsWith('release: '))
      resolve({ code, stdout: output.stdout, lines: lines.map((line) => line.slice('release: '.length)) })
    })
  })
}

const inActions = { GITHUB_ACTIONS: 'true' }
const asked = () =>
  readFile(join(folder, 'ran'), 'utf8').then(
    (text) => text.trim().split('\n'),
    () => [],
  )

test.each<[what: string, change: () => Promise<unknown>, refusal: string]>([
  [
    'uncommitted changes',
    () => write({ 'index.js': 'changed' }),
    'The working tree has uncommitted changes. Commit or stash them.',
  ],
  [
    'another branch',
    () => git('switch', '--quiet', '--create', 'work'),
    'This is work, but releases start from main. Run git switch main.',
  ],
  [
    'a changelog without a release',
    () => write({ 'CHANGELOG.md': '# Changelog\n\n## 1.2\n' }).then(commit),
    'CHANGELOG.md has no heading like "## 1.2.0". Describe the release under one.',
  ],
  [
    'a release that the changelog says nothing about',
    () => write({ 'CHANGELOG.md': '# Changelog\n\n## 1.2.0\n\n## 1.1.0\n\nIt is large.\n' }).then(commit),
    'CHANGELOG.md says nothing about 1.2.0. Describe the release under its heading.',
  ],
  [
    'a release that is not later than the one before',
    () => write({ 'CHANGELOG.md': '# Changelog\n\n## 1.2.0\n\nIt is smaller.\n\n## 1.10.0\n' }).then(commit),
    'CHANGELOG.md has 1.2.0 above 1.10.0, which is not earlier.',
  ],
  [
    'a version that differs from that of the changelog',
    () => write({ 'package.json': JSON.stringify({ ...manifest, version: '1.1.0' }) }).then(commit),
    'package.json names 1.1.0, but CHANGELOG.md names 1.2.0. Run npm run release -- --prepare, and commit.',
  ],
  [
    'a version that the changelog calls unreleased',
    () => write({ 'CHANGELOG.md': '# Changelog\n\n## 1.2.0 (not released yet)\n\nIt is smaller.\n' }).then(commit),
    'CHANGELOG.md says that 1.2.0 is not released. Run npm run release -- --prepare, and commit.',
  ],
  [
    'a version that has a tag',
    () => git('tag', 'v1.2.0'),
    'The tag v1.2.0 exists. Give the next release a heading in CHANGELOG.md.',
  ],
])('refuses %s, and runs nothing', async (what, change, refusal) => {
  await change()
  const dryRun = what === 'uncommitted changes' ? ['--dry-run'] : []
  for (const args of howMuch([dryRun], [[], ['--dry-run']]))
    expect(await release(args, inActions)).toMatchObject({ code: 1, stdout: '', lines: [refusal] })
  expect(await asked()).toEqual([])
})

test('prepares a release: dates its heading, and writes its version into every file that names one', async () => {
  const changelog = (heading: string) =>
    `# Changelog\n\n## ${heading}\n\nIt is smallest.\n\n## 1.2.0\n\nIt is smaller.\n`
  const lock = (version: string) => ({
    name: 'small',
    version,
    packages: { '': { version }, dep: { version: '1.2.0' } },
  })
  const example = (version: string) => `{ "devDependencies": { "farthing": "^${version}" } }\n`
  for (const folder of ['src/base', 'examples/shop']) await mkdir(join(project, folder), { recursive: true })
  await write({
    'CHANGELOG.md': changelog('1.3.0 (not released yet)'),
    'package-lock.json': JSON.stringify(lock('1.2.0')),
    'src/base/version.ts': "export const VERSION = '1.2.0'\n",
    'examples/shop/package.json': example('1.2.0'),
  })
  expect(await release(['--prepare'])).toMatchObject({
    code: 0,
    lines: [
      '1.3.0 is in package.json, package-lock.json, src/base/version.ts, examples/shop/package.json. Commit, then run npm run release -- --dry-run.',
    ],
  })
  const read = (path: string) => readFile(join(project, path), 'utf8')
  expect(await read('CHANGELOG.md')).toMatch(/^# Changelog\n\n## 1\.3\.0 \(\d{4}-\d\d-\d\d\)\n\nIt is smallest/)
  expect(JSON.parse(await read('package.json'))).toEqual({ ...manifest, version: '1.3.0' })
  expect(JSON.parse(await read('package-lock.json'))).toEqual(lock('1.3.0'))
  expect(await read('src/base/version.ts')).toBe("export const VERSION = '1.3.0'\n")
  expect(await read('examples/shop/package.json')).toBe(example('1.3.0'))
  await commit()
  expect(await release(['--dry-run'], inActions)).toMatchObject({ code: 0 })
})

test('prepares no release that cannot be the next one', async () => {
  await git('tag', 'v1.2.0')
  const { code, lines } = await release(['--prepare'])
  expect({ code, lines }).toEqual({
    code: 1,
    lines: ['The tag v1.2.0 exists. Give the next release a heading in CHANGELOG.md.'],
  })
  expect(await git('status', '--porcelain')).toBe('')
})

test('refuses to publish if npm cannot attest the build, and names everything that is missing', async () => {
  await write({ 'package.json': JSON.stringify({ ...manifest, repository: undefined }) })
  await commit()
  const { code, lines } = await release()
  expect(code).toBe(1)
  expect(lines).toEqual([
    'package.json has no "repository". Add it, because npm compares it with the repository of the build.',
    'npm attests only builds in GitHub Actions or GitLab CI. Run npm run release there.',
  ])
  expect(await asked()).toEqual([])
})

test('runs every check and the build, publishes with provenance, then tags', async () => {
  const { code, lines } = await release([], inActions)
  expect(code).toBe(0)
  expect(await asked()).toEqual([
    'run check',
    'run test:all',
    'run build',
    'run interop',
    'run check:api',
    'run check:size',
    'run check:package',
    'run check:package-types',
    'publish --provenance --access public --ignore-scripts',
  ])
  expect(await git('tag', '--list')).toBe('v1.2.0')
  expect(lines.at(-1)).toBe('1.2.0 is published. Push its tag: git push origin v1.2.0')
})

test('stops at a check that fails: it publishes and tags nothing', async () => {
  const { code, lines } = await release([], { ...inActions, NPM_FAILS: 'run test:all' })
  expect(code).toBe(1)
  expect(lines.at(-1)).toBe('"npm run test:all" failed, see above. The steps after it did not run.')
  expect(await asked()).toEqual(['run check', 'run test:all'])
  expect(await git('tag', '--list')).toBe('')
})

test('creates no tag if publishing fails', async () => {
  const publish = 'publish --provenance --access public --ignore-scripts'
  expect((await release([], { ...inActions, NPM_FAILS: publish })).code).toBe(1)
  expect(await git('tag', '--list')).toBe('')
})

test('a dry run packs with npm, and prints what a release runs and what is missing', async () => {
  // npm itself, that of the PATH.
  const { code, stdout, lines } = await release(['--dry-run'], { npm_execpath: '' })
  expect(code).toBe(0)
  expect(stdout).toContain('small-1.2.0.tgz')
  expect(lines).toEqual([
    'npm pack --dry-run',
    'This was a dry run. A release of 1.2.0 runs:',
    '  npm run check',
    '  npm run test:all',
    '  npm run build',
    '  npm run interop',
    '  npm run check:api',
    '  npm run check:size',
    '  npm run check:package',
    '  npm run check:package-types',
    '  npm publish --provenance --access public --ignore-scripts',
    '  git tag --annotate v1.2.0 --message farthing 1.2.0',
    'It cannot run here yet: npm attests only builds in GitHub Actions or GitLab CI. Run npm run release there.',
  ])
  expect(await git('status', '--porcelain')).toBe('')
  expect(await git('tag', '--list')).toBe('')
  expect(await asked()).toEqual([])
})
