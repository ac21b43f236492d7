import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type TS from 'typescript'
import { ts } from '../../../scripts/typescript.js'

/** A test as its file declares it. A table of cases counts once. */
export interface DeclaredTest {
  readonly file: string
  readonly title: string
}

/** The tests that the files of a folder declare, in order. Nothing is run. */
export const declaredTests = (folder: string): DeclaredTest[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name).replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.test.ts'))
    .sort()
    .flatMap(testsIn)

function testsIn(file: string): DeclaredTest[] {
  const found: DeclaredTest[] = []
  const visit = (node: TS.Node): void => {
    const title = ts.isCallExpression(node) ? titleOf(node) : undefined
    if (title !== undefined) found.push({ file, title })
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true))
  return found
}

function titleOf({ expression, arguments: [first] }: TS.CallExpression): string | undefined {
  const called = nameOf(expression)
  return first && (called === 'it' || called === 'test') ? textOf(first) : undefined
}

/** `it` for `it(…)`, `it.each(…)(…)` and `it.each` with a table between back-ticks. */
function nameOf(called: TS.Expression): string | undefined {
  if (ts.isIdentifier(called)) return called.text
  if (ts.isPropertyAccessExpression(called) || ts.isCallExpression(called)) return nameOf(called.expression)
  return ts.isTaggedTemplateExpression(called) ? nameOf(called.tag) : undefined
}

/** What a string says, with `…` for what it is filled with. */
function textOf(node: TS.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text
  if (!ts.isTemplateExpression(node)) return undefined
  return [node.head.text, ...node.templateSpans.map(({ literal }) => `…${literal.text}`)].join('')
}
