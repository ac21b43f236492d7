import { readdirSync, readFileSync } from 'node:fs'
import type TS from 'typescript'
import { describe, expect, it } from 'vitest'
import { ts } from '../scripts/typescript.js'

/** A function fits a screen, and a file is read at once. */
const MOST_IN_FUNCTION = 70
const MOST_IN_FILE = 400

const root = new URL('../', import.meta.url)
const sources = ['src', 'adapters', 'sandbox'].flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts')),
)

/** The functions that are too long, each as `line: lines`. */
function longFunctions(text: string, path = 'code.ts'): string[] {
  // A function is in a file that is at least as long.
  if (text.trimEnd().split('\n').length <= MOST_IN_FUNCTION) return []
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  const lineAt = (place: number) => file.getLineAndCharacterOfPosition(place).line
  const found: string[] = []
  const visit = (node: TS.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const lines = lineAt(node.end) - lineAt(node.getStart(file)) + 1
      if (lines > MOST_IN_FUNCTION) found.push(`${lineAt(node.getStart(file)) + 1}: ${lines}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

describe.each(['src', 'adapters', 'sandbox'])('the code in %s/', (folder) => {
  const texts = sources
    .filter((path) => path.startsWith(`${folder}/`))
    .map((path) => [path, readFileSync(new URL(path, root), 'utf8')] as const)

  it(`has no function of more than ${MOST_IN_FUNCTION} lines`, () => {
    expect(texts.length).toBeGreaterThan(10)
    expect(texts.flatMap(([path, text]) => longFunctions(text, path).map((found) => `${path}:${found}`))).toEqual([])
  })

  it(`has no file of more than ${MOST_IN_FILE} lines`, () => {
    const long = texts.map(([path, text]) => [path, text.trimEnd().split('\n').length] as const)
    expect(long.filter(([, lines]) => lines > MOST_IN_FILE)).toEqual([])
  })
})

describe('the reader of long functions', () => {
  const lines = (count: number) => '  work()\n'.repeat(count)

  it.each([
    ['a function', `function f() {\n${lines(69)}}`],
    ['an arrow', `const f = () => {\n${lines(69)}}`],
    ['a method', `class A {\nf() {\n${lines(69)}}\n}`],
    ['a constructor', `class A {\nconstructor() {\n${lines(69)}}\n}`],
    ['an arrow that gives an object', `const f = () => ({\n${'  a: 1,\n'.repeat(69)}})`],
  ])('finds %s', (_, text) => {
    expect(longFunctions(text)).toHaveLength(1)
    expect(longFunctions(text.replace(/ {2}(work\(\)|a: 1,)\n/, ''))).toEqual([])
  })
})
