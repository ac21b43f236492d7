import { readFile } from 'node:fs/promises'
import type TS from 'typescript'
import { ts } from '../../../scripts/typescript.js'
import { isWhole } from '../how-much.js'

/** A regular expression of the sources, or a place that makes one while the service runs. */
export interface Expression {
  readonly file: string
  readonly line: number
  /** As it is written: `/a+/g`, or `new RegExp(…)` on one line. */
  readonly text: string
  /** Undefined for one that is made by a call. */
  readonly source: string | undefined
  readonly flags: string
  /** It is made each time that a function runs. */
  readonly isLate: boolean
}

/** What every file with an expression has: to parse the others takes seconds, and `npm run test:all` does. */
const MAY_HAVE_SOME = /\bnew RegExp\b|(?:^|[(,=:[!&|?{;+>]|\breturn|\btypeof)\s*\/(?![/*>])/m

/** Finds every literal and every `new RegExp` in a file. */
export async function expressionsIn(file: string): Promise<Expression[]> {
  const code = await readFile(file, 'utf8')
  if (!isWhole && !MAY_HAVE_SOME.test(code)) return []
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest)
  const found: Expression[] = []
  const visit = (node: TS.Node, isLate: boolean): void => {
    const lineOf = () => source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1
    if (ts.isRegularExpressionLiteral(node)) {
      const { text } = node
      const end = text.lastIndexOf('/')
      found.push({ file, line: lineOf(), text, source: text.slice(1, end), flags: text.slice(end + 1), isLate })
    } else if (ts.isNewExpression(node) && node.expression.getText(source) === 'RegExp')
      found.push({
        ...{ file, line: lineOf(), text: node.getText(source).replace(/\s+/g, ' ') },
        ...{ source: undefined, flags: '', isLate },
      })
    ts.forEachChild(node, (child) => visit(child, isLate || ts.isFunctionLike(node)))
  }
  visit(source, false)
  return found
}

/** Nothing in it repeats without an end, so it looks at each character a limited number of times. */
export const isBounded = (source: string): boolean =>
  !/[*+]|\{\d+,\}/.test(source.replace(/\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]/g, 'x'))

/** How many words of an alternation of plain words are checked: each takes as many steps as the others. */
const WORDS = 3

/** The first words of each long alternation of plain words. */
const withFewWords = (source: string): string =>
  source.replace(/(?<=\()((?:\?:)?)(\w+(?:\|\w+)+)(?=\))/g, (_, kind: string, words: string) => {
    return kind + words.split('|').slice(0, WORDS).join('|')
  })

// The other backends are programs for some platforms.
process.env.RECHECK_BACKEND = 'pure'

/** What `recheck` says of an expression: `safe`, if its steps grow as the text does, or why not. */
export async function growthOf(source: string, flags: string): Promise<string> {
  // It takes a second to load, and most runs know every expression.
  const { checkSync } = await import('recheck')
  const found = checkSync(withFewWords(source), flags, {
    ...{ timeout: null, randomSeed: 1 },
    ...{ maxAttackStringSize: 30_000 },
  })
  if (found.status === 'safe') return 'safe'
  return found.status === 'vulnerable' ? `vulnerable: ${found.complexity.summary}` : found.status
}
