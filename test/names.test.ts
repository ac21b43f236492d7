import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const source = new URL('../src/', import.meta.url)

/** What the modules export by a declaration of their own, as `name → files`. */
function exportedNames(texts: ReadonlyMap<string, string>): Map<string, string[]> {
  const names = new Map<string, string[]>()
  for (const [path, text] of texts) {
    const declared = text.matchAll(
      /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm,
    )
    for (const name of new Set([...declared].map(([, name = '']) => name)))
      names.set(name, [...(names.get(name) ?? []), path])
  }
  return names
}

const repeated = (texts: ReadonlyMap<string, string>): string[] =>
  [...exportedNames(texts)].flatMap(([name, paths]) => (paths.length > 1 ? [`${name}: ${paths.join(', ')}`] : []))

const texts = new Map(
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
    .map((path) => [path.replaceAll('\\', '/'), readFileSync(new URL(path, source), 'utf8')]),
)

describe('an exported name', () => {
  it('occurs once in src', () => {
    expect(texts.size).toBeGreaterThan(200)
    expect(exportedNames(texts).size).toBeGreaterThan(1000)
    expect(repeated(texts)).toEqual([])
  })

  it('is reported with its files if it occurs twice', () => {
    const twice = new Map([
      ['a.ts', 'export async function pay(): void {}\nexport type A = 1'],
      ['b.ts', 'export const pay = 1\nconst A = 2'],
    ])
    expect(repeated(twice)).toEqual(['pay: a.ts, b.ts'])
  })
})
