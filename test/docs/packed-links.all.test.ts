import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { deadLinks } from '../support/docs/dead-links.js'
import { reference } from '../support/docs/reference.js'

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

/** The pages of the package, with the reference, which is made before npm packs it. */
async function packedPages(): Promise<{ readonly files: ReadonlySet<string>; readonly pages: Map<string, string> }> {
  const { stdout } = await promisify(execFile)(npm, ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    maxBuffer: 1 << 26,
    shell: process.platform === 'win32',
  })
  const [{ files }]: [{ files: { path: string }[] }] = JSON.parse(stdout)
  const made = [...reference()].map(([path, text]) => [`docs/reference/${path}`, text] as const)
  const paths = files.map(({ path }) => path).filter((path) => !path.startsWith('docs/reference/'))
  const written = paths
    .filter((path) => path.endsWith('.md'))
    .map((path) => [path, readFileSync(path, 'utf8')] as const)
  return { files: new Set([...paths, ...made.map(([path]) => path)]), pages: new Map([...written, ...made]) }
}

test('every relative link of the packed pages leads to a packed file, and to a part that it has', async () => {
  const { files, pages } = await packedPages()
  expect([...files]).toEqual(expect.arrayContaining(['README.md', 'docs/quick-start.md', 'docs/reference/errors.md']))
  const written = new Map([...pages].filter(([path]) => !path.startsWith('dist/')))
  expect(deadLinks(written, (path) => files.has(path))).toEqual([])
})

test('the reference is made before npm packs', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  expect(scripts.prepack).toContain('npm run docs:reference')
})
