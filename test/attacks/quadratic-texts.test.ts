import { readdir, readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { expect, test, vi } from 'vitest'
import { Problem } from '../../src/base/problem.js'
import { unlinked, withoutLinks } from '../../src/base/text/quotation.js'
import { checkNoCardData, hideCardNumbers } from '../../src/http/fields/card-data.js'
import { isWhole } from '../support/how-much.js'
import { type Expression, expressionsIn, growthOf, isBounded } from '../support/rules/expressions.js'

/** Texts that cost far more time than their length says. */

/** How often characters are read and expressions are run. */
function stepsOf(job: () => unknown): { characters: number; expressions: number } {
  const steps = { characters: 0, expressions: 0 }
  const { charCodeAt } = String.prototype
  const { exec } = RegExp.prototype
  // A spy keeps each call, which costs more than the call.
  String.prototype.charCodeAt = function (at) {
    steps.characters++
    return charCodeAt.call(this, at)
  }
  RegExp.prototype.exec = function (text) {
    steps.expressions++
    return exec.call(this, text)
  }
  try {
    job()
    return steps
  } finally {
    String.prototype.charCodeAt = charCodeAt
    RegExp.prototype.exec = exec
  }
}

const ones = '1 '
const shapes: Record<string, string> = {
  'single digits': ones,
  'digits that may begin cards': '4 ',
  'groups of four digits': '4242 ',
  'digits in words': '1a 1_',
  'long groups': '4'.repeat(999).concat('-'),
  'wide gaps': '4'.concat(' '.repeat(99)),
}

test.each(Object.entries(shapes))(
  'a text of %s is searched for card numbers in steps that grow as it does',
  (_, piece) => {
    const textOf = (length: number) => piece.repeat(Math.ceil(length / piece.length))
    const searches: ((text: string) => unknown)[] = [
      (text) => hideCardNumbers(text, '…'),
      (text) => {
        try {
          checkNoCardData({ text })
        } catch (error) {
          if (!(error instanceof Problem)) throw error
        }
      },
    ]
    for (const search of searches) {
      const short = stepsOf(() => search(textOf(2000)))
      const long = stepsOf(() => search(textOf(8000)))
      expect(long.characters).toBeLessThan(5 * 8000)
      expect(long.characters).toBeLessThan(4.2 * Math.max(short.characters, 2000))
      expect(long.expressions).toBeLessThan(8000)
    }
  },
)

test('a long text of single digits runs no expression for each of them', () => {
  expect(stepsOf(() => checkNoCardData(ones.repeat(1 << 14))).expressions).toBeLessThan(10)
})

const DEVELOPERS_URL = 'It is an address that the developer gave.'
const OWN_SITE = 'The worker reads the pages of the site that registered it, when it installs.'
const SHORT = 'It reads 2,048 characters.'
const WORDS_OF_OURS = 'It holds words of ours, escaped.'

test('a long text is searched for links no further than people read it', () => {
  for (const search of [withoutLinks, unlinked]) expect(search('a.'.repeat(1 << 19)).length).toBeLessThan(5000)
})

/**
 * Expressions whose steps may grow faster than their text, or that a function makes, each with the reason why no stranger
 * makes their text long. A reason that no expression needs is a failure.
 */
const reasons: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'adapters/client/naming.ts': {
    "new RegExp(`^([a-z]+(?:(?:${prepositions.join('|')})(?=[A-Z]))*)([A-Z]\\\\w*?)(By[A-Z][A-Za-z]*)?(_v\\\\d)?$`)":
      'It reads the names of operations, when the package is built.',
  },
  'adapters/client/request.ts': { '/\\/+$/': DEVELOPERS_URL },
  'adapters/msw.ts': {
    '/\\/+$/': DEVELOPERS_URL,
    '/(?<=.)\\/+$/': DEVELOPERS_URL,
    'new RegExp(`^${escaped(start)}(?:/|$)`)': DEVELOPERS_URL,
  },
  'adapters/service-worker.ts': { '/\\/+$/': DEVELOPERS_URL },
  'adapters/service-worker/precache.ts': {
    '/<!--[\\s\\S]*?-->/g': OWN_SITE,
    '/(<script\\b[^>]*>)[\\s\\S]*?<\\/script>/gi': OWN_SITE,
    '/<base\\b([^>]*)>/i': OWN_SITE,
    '/<(script|link|img)\\b([^>]*)>/gi': OWN_SITE,
    '/([\\w-]+)\\s*=\\s*(?:"([^"]*)"|\'([^\']*)\'|([^\\s"\'>]+))/g': OWN_SITE,
  },
  'sandbox/commands/diff/recorded.ts': {
    "new RegExp(`^${path.replace(/[.*+?^$()|[\\]\\\\]/g, '\\\\$&').replace(/\\{[^{}]*\\}/g, '[^/]+')}/?$`)":
      'It has no repetition but of parts of a path between slashes.',
  },
  'sandbox/commands/mcp.ts': { '/\\/+$/': DEVELOPERS_URL },
  'sandbox/commands/running-service.ts': { '/\\/+$/': DEVELOPERS_URL },
  'src/base/text/quotation.ts': {
    "new RegExp(LINK, 'giu')": SHORT,
    "new RegExp(`${LINK}|(?<![@\\\\p{L}\\\\p{N}_.-])(?![0-9a-f]{32}\\\\.)${HOST}(?![\\\\p{L}\\\\p{N}@-])`, 'giu')":
      SHORT,
  },
  'src/http/csv/csv.ts': { '/0+$/': 'It reads nine decimals.' },
  'src/sandbox/onion/guard.ts': {
    'new RegExp(`(?:^|;\\\\s*)${name}=([^;\\\\s]*)`)':
      'A head of 16 KB holds the cookies, and the name of the cookie is ours.',
  },
  'src/market/catalog/pattern.ts': {
    "new RegExp(source, 'u')": 'It only checks the grammar of a pattern of limited length, and matches nothing.',
    "new RegExp(`^(?:${source})$`, 'u')": 'It matches one character.',
  },
  'src/market/embeds/browser/element.client.ts': { '/[^/]*([?#].*)?$/': DEVELOPERS_URL, '/\\/+$/': DEVELOPERS_URL },
  'src/market/embeds/offer.ts': { 'new RegExp(`^\\\\d{1,${digits}}$`)': 'It repeats a limited number of times.' },
  'src/sandbox/controls/seed/seed-schema.ts': {
    'new RegExp(`^${prefix}_[0-9a-f]{32}$`)': 'It repeats a limited number of times.',
  },
  'src/sandbox/explain/facts/refused-request.ts': {
    "new RegExp(`^${versions ? `/(?:${versions.join('|')})` : ''}${pattern}/*$`)":
      'It is the path of a route, and reads a path of the journal.',
  },
  'src/sandbox/replay/difference.ts': {
    'new RegExp(`^${TIME}$`)': 'It is anchored at both ends, and repeats once.',
    "new RegExp(`^${UUID}$`, 'i')": 'It repeats a limited number of times.',
  },
  'src/sandbox/scripted-agent/person.ts': {
    'new RegExp(`name="${name}" value="([^"]*)"`, \'g\')': WORDS_OF_OURS,
    '/role="alert"[^>]*>([^<]*)</': WORDS_OF_OURS,
  },
  'src/service.ts': { '/\\/+$/': DEVELOPERS_URL },
}

const FOLDERS = ['src', 'adapters', 'sandbox']
const root = resolve(import.meta.dirname, '../..')
/**
 * Expressions that were found linear once, which takes minutes and does not change. New ones are checked each time, until
 * FARTHING_CHECK_EXPRESSIONS=1 adds them. With `all`, it checks every one again.
 */
const PROVEN = resolve(import.meta.dirname, '../support/rules/linear-expressions.txt')

/** The paths of all modules. */
async function modules(): Promise<string[]> {
  const lists = FOLDERS.map(async (folder) => {
    const names = await readdir(resolve(root, folder), { recursive: true })
    return names.filter((name) => /\.tsx?$/.test(name)).map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
  })
  return (await Promise.all(lists)).flat().sort()
}

/** The expressions that a module makes when it is loaded, in their order. */
async function madeAtLoad(file: string): Promise<RegExp[]> {
  const made: RegExp[] = []
  const Native = RegExp
  const spy = new Proxy(Native, {
    construct(target, given, newTarget) {
      const expression: RegExp = Reflect.construct(target, given, newTarget)
      const [, , caller = ''] = new Error('where').stack?.split('\n') ?? []
      if (caller.includes(file)) made.push(expression)
      return expression
    },
  })
  vi.stubGlobal('RegExp', spy)
  try {
    // A module of its own, beside the one that other modules have.
    await import(/* @vite-ignore */ `${resolve(root, file)}?again`)
  } finally {
    vi.unstubAllGlobals()
  }
  return made
}

/** Every expression with its source. Those that functions make have none. */
async function allExpressions(): Promise<Expression[]> {
  const found: Expression[] = []
  for (const file of await modules()) {
    const own = await expressionsIn(resolve(root, file))
    const early = own.filter(({ source, isLate }) => source === undefined && !isLate)
    const made = early.length === 0 ? [] : await madeAtLoad(file)
    expect([file, made.length]).toEqual([file, early.length])
    for (const each of own) {
      const { source, flags } = early.includes(each) ? (made[early.indexOf(each)] as RegExp) : each
      found.push({ ...each, file, source, flags })
    }
  }
  return found
}

test('every expression of the sources takes steps that grow as its text does, or has a reason', {
  timeout: 3_600_000,
}, async () => {
  const checks = process.env.FARTHING_CHECK_EXPRESSIONS
  const proven = new Set(checks === 'all' ? [] : (await readFile(PROVEN, 'utf8')).split('\n'))
  const found = await allExpressions()
  expect(FOLDERS.map((folder) => found.filter(({ file }) => file.startsWith(`${folder}/`)).length > 20)).toEqual([
    true,
    true,
    true,
  ])
  const needless = new Map(Object.entries(reasons).map(([file, texts]) => [file, new Set(Object.keys(texts))]))
  const wrong: string[] = []
  for (const { file, line, text, source, flags } of found) {
    if (source !== undefined && isBounded(source)) continue
    const expression = `/${source}/${flags}`
    if (source !== undefined && proven.has(expression)) continue
    const isExcused = reasons[file]?.[text] !== undefined
    // Whether a reason is needed takes seconds to learn: `npm run test:all` does.
    const asks = isWhole || !isExcused
    const growth = source === undefined ? 'made by a function' : asks ? await growthOf(source, flags) : 'excused'
    if (growth === 'safe') proven.add(expression)
    else if (!isExcused) wrong.push(`${file}:${line} ${growth}: ${text}`)
    if (growth !== 'safe') needless.get(file)?.delete(text)
  }
  if (checks !== undefined) await writeFile(PROVEN, [...proven].sort().join('\n'))
  expect(wrong).toEqual([])
  expect([...needless].flatMap(([file, texts]) => [...texts].map((text) => `${file} ${text}`))).toEqual([])
})
