import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { groups } from './support/rules/import-rules.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
/** Without blocks of code, whose fences are back-ticks too. */
const prose = (path: string) => read(path).replace(/^ *```[\s\S]*?^ *```/gm, '')
const documents = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('reference'))
    .map((name) => `docs/${name}`),
]

/** Rows of the tables whose head begins with a column of this title, cell by cell. */
const tableRows = (document: string, title: string): string[][] =>
  document
    .split('\n\n')
    .filter((block) => block.startsWith(`| ${title} |`))
    .flatMap((table) => table.trim().split('\n').slice(2))
    .map((row) => row.split('|').slice(1, -1))
const codeIn = (cell = ''): string[] => [...cell.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)

describe.each(documents)('%s', (path) => {
  test('names only files and folders that exist', () => {
    const named = codeIn(prose(path)).filter((code) =>
      /^(src|adapters|sandbox|test|scripts|docs)\/[\w./-]*$/.test(code),
    )
    expect(named.filter((name) => !['', 'src'].some((folder) => existsSync(join(root, folder, name))))).toEqual([])
  })
})

test('the path of a payment names only functions that exist', () => {
  const steps = tableRows(read('CONTRIBUTING.md'), 'what happens')
  expect(steps.length).toBeGreaterThan(10)
  const missing = steps.flatMap(([, file, functions]) => {
    const [path = ''] = codeIn(file)
    const source = read(`src/${path}`)
    return codeIn(functions).filter((name) => !source.includes(name))
  })
  expect(missing).toEqual([])
})

test('the files in unexpected places exist', () => {
  const files = tableRows(read('CONTRIBUTING.md'), 'file in `src/`').flatMap(([file]) => codeIn(file))
  expect(files.length).toBeGreaterThan(10)
  expect(files.filter((file) => !existsSync(join(root, 'src', file)))).toEqual([])
})

test('the map lists every group and every composing file', () => {
  const entries = readdirSync(join(root, 'src'), { withFileTypes: true })
  const named = codeIn(prose('CONTRIBUTING.md'))
  const missing = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
  expect(missing.filter((name) => !named.includes(name))).toEqual([])
})

test('the picture shows the groups in their order', () => {
  expect(read('CONTRIBUTING.md')).toContain(`${groups.join(' --> ')} --> composing`)
})

test('the index lists every decision, and each has its three parts', () => {
  const index = read('docs/decisions/README.md')
  for (const name of readdirSync(join(root, 'docs/decisions')).filter((name) => name !== 'README.md')) {
    expect(index).toContain(`[${name}](${name})`)
    const parts = [...read(`docs/decisions/${name}`).matchAll(/^## (.+)$/gm)].map(([, title]) => title)
    expect(parts, name).toEqual(['Context', 'Decision', 'Consequences'])
  }
})

test('the glossary has at most 40 words, each once, and names files that exist', () => {
  const text = read('docs/glossary.md')
  const terms = tableRows(text, 'term').map(([term = '']) => term.trim())
  expect(terms.length).toBeGreaterThan(20)
  expect(terms.length).toBeLessThanOrEqual(40)
  expect(terms.filter((term, at) => terms.indexOf(term) !== at)).toEqual([])
  const paths = [...text.matchAll(/`((?:src|adapters)\/[^`]+)`/g)].map(([, path = '']) => path)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})
