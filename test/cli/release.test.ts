import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/release.mjs', import.meta.url))
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

/** As somebody, and by no settings of this machine. */
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
    'a version that the changelog does not have',
    () => write({ 'CHANGELOG.md': '# Changelog\n\n## 1.2.01\n' }).then(commit),
    'CHANGELOG.md has no heading "## 1.2.0". Describe the release under it.',
  ],
  [
    'a version that the changelog calls unreleased',
    () => write({ 'CHANGELOG.md': '# Changelog\n\n## 1.2.0 (not released yet)\n' }).then(commit),
    'CHANGELOG.md says that 1.2.0 is not released. Replace that by the date.',
  ],
  [
    'a version that has a tag',
    () => git('tag', 'v1.2.0'),
    'The tag v1.2.0 exists. Set the next version in package.json.',
  ],
])('refuses %s, and runs nothing', async (_, change, refusal) => {
  await change()
  for (const args of [[], ['--dry-run']])
    expect(await release(args, inActions)).toMatchObject({ code: 1, stdout: '', lines: [refusal] })
  expect(await asked()).toEqual([])
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
    'run test',
    'run build',
    'run check:size',
    'run check:package',
    'run check:package-types',
    'publish --provenance --access public --ignore-scripts',
  ])
  expect(await git('tag', '--list')).toBe('v1.2.0')
  expect(lines.at(-1)).toBe('1.2.0 is published. Push its tag: git push origin v1.2.0')
})

test('stops at a check that fails: it publishes and tags nothing', async () => {
  const { code, lines } = await release([], { ...inActions, NPM_FAILS: 'run test' })
  expect(code).toBe(1)
  expect(lines.at(-1)).toBe('"npm run test" failed, see above. The steps after it did not run.')
  expect(await asked()).toEqual(['run check', 'run test'])
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
    '  npm run test',
    '  npm run build',
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
