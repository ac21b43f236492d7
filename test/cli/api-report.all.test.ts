import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const { compareApi } = await import(new URL('../../scripts/publish/api-report.mjs', import.meta.url).href)

test('tells what changed in the public types, and takes it only with a new line in the changelog', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'farthing-api-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const write = (name: string, text: string) => writeFile(join(folder, name), text)
  const announce = (text: string) =>
    write('CHANGELOG.md', `# Changelog\n\n## 1.1.0 (not released yet)\n\n${text}\n\n## 1.0.0\n`)
  const declare = (size: string, pair = 'a: 1; b: 2') =>
    write(
      'index.d.ts',
      `interface Hidden {\n  size: ${size};\n}\ndeclare function small(given: Hidden): number;\nexport { small };
export interface Pair {\n  ${pair.replace('; ', ';\n  ')};\n}\n`,
    )
  const compare = (accept = false): { isSame: boolean; lines: string[] } => compareApi(folder, { accept })
  const exports = { '.': { types: './index.d.ts' }, './plain': './plain.js', './package.json': './package.json' }
  await write('package.json', JSON.stringify({ name: 'small', version: '1.0.0', type: 'module', exports }))
  expect(compare()).toEqual({ isSame: false, lines: ['There is no ./index.d.ts. Run npm run build first.'] })

  await declare('number')
  await announce('- It is small.')
  expect(compare(true)).toMatchObject({ isSame: true })
  const report = () => readFile(join(folder, 'test/api/index.api.md'), 'utf8')
  expect(await report()).toContain('export function small(given: Hidden): number;')

  // A type that has no name outside is promised too.
  await declare('string')
  const refused = compare(true)
  expect(refused.isSame).toBe(false)
  expect(refused.lines).toEqual([
    'test/api/index.api.md:',
    '  -     size: number;',
    '  +     size: string;',
    '',
    expect.stringContaining('CHANGELOG.md says nothing new'),
  ])
  expect(await report()).toContain('size: number;')

  await announce('- It is small.\n- A size is a text.')
  expect(compare()).toMatchObject({
    isSame: false,
    lines: expect.arrayContaining([expect.stringContaining('--accept')]),
  })
  expect(compare(true)).toMatchObject({ isSame: true })

  // The compiler may write the members of a type in another order.
  await declare('string', 'b: 2; a: 1')
  expect(compare()).toEqual({ isSame: true, lines: ['The public types are those of test/api.'] })
})
