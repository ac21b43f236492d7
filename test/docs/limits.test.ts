import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { problemCodes, problemStatus } from '../../src/base/problem.js'
import { collections } from '../../src/collections.js'
import { defaultLimits } from '../../src/http/limits.js'
import type { Route } from '../../src/http/route.js'
import { type Growth, isCounted } from '../../src/storage/growth.js'
import { isSwept, type Retention } from '../../src/storage/retention.js'
import type { Row } from '../../src/storage/storage.js'

/** `FARTHING_WRITE_LIMITS=1 npx vitest run test/docs/limits.test.ts` writes the tables that follow from the sources. */

const page = new URL('../../docs/limits.md', import.meta.url)
const HOUR = 3_600_000

const tables: Record<string, string[]> = {
  'The collections': collections
    .map(({ name, growth, retention }) => `| \`${name}\` | ${[...grows(growth), removed(retention)].join(' | ')} |`)
    .sort(),
  'Before the caller is known': routeList
    .map(
      (route) => `| \`${route.id}\` | ${callers(route)} | ${body(route)} | ${route.adds ? `\`${route.adds}\`` : ''} |`,
    )
    .sort(),
}

function grows(growth: Growth | undefined): string[] {
  if (!growth) return []
  if (!isCounted(growth)) return [growth.by, growth.bound, '']
  const { by, most, withinMs, per, beyond } = growth
  const count = typeof most === 'number' ? `${most}` : `\`${most}\``
  const within =
    withinMs === undefined ? 'at once' : withinMs === 24 * HOUR ? 'a day' : `in ${withinMs / 60_000} minutes`
  return [by, `${count} ${within}, per ${per}`, beyond === 'oldest ends' ? 'The oldest one ends.' : `\`${beyond}\``]
}

function removed(rule: Retention<Row> | undefined): string {
  if (!rule || 'forever' in rule) return 'never'
  if (!isSwept(rule)) return 'one at a time'
  const { rowsAtOnce = 300, belongings } = rule
  return `in slices of ${rowsAtOnce} rows${belongings ? `, each with at most ${belongings.most} others` : ''}`
}

function callers({ auth, scope }: Route): string {
  if (scope === 'sandbox') return 'whoever controls the sandbox'
  const named = auth.map((kind) => (kind === 'none' ? 'anybody' : kind === 'guest' ? 'anybody, as a guest' : kind))
  return named.join(', ')
}

function body({ body: schema, queryInBody, bodyLimit, text }: Route): string {
  if (text) return `\`limits.${text.limit}\`, in pieces`
  return schema || queryInBody ? `\`limits.${bodyLimit ?? 'bodyBytes'}\`` : 'none'
}

/** The rows of the table under a heading. */
function rowsUnder(heading: string): string[] {
  const section = readFileSync(page, 'utf8').split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return section.split('\n').filter((line) => line.startsWith('| `'))
}

if (process.env.FARTHING_WRITE_LIMITS)
  for (const [heading, rows] of Object.entries(tables)) {
    const [before, after = ''] = readFileSync(page, 'utf8').split(`\n## ${heading}\n`)
    const [section = '', ...rest] = after.split(/\n(?=## )/)
    const text = section.split('\n').filter((line) => !line.startsWith('| `'))
    writeFileSync(
      page,
      [`${before}\n## ${heading}\n${text.join('\n').trimEnd()}\n${rows.join('\n')}\n`, ...rest].join('\n'),
    )
  }

test('every collection says who adds rows, and what ends its growth', () => {
  expect(collections.filter(({ growth }) => !growth).map(({ name }) => name)).toEqual([])
})

describe.each(Object.entries(tables))('the table of docs/limits.md under "%s"', (heading, rows) => {
  it('is what the sources declare', () => expect(rowsUnder(heading)).toEqual(rows))
})

test('each option that a limit names exists', () => {
  for (const { growth } of collections)
    if (isCounted(growth) && typeof growth.most === 'string')
      expect(Object.keys(defaultLimits)).toContain(growth.most.replace('limits.', ''))
})

test('what counts for a day is added by an operation, and each such operation names such a collection', () => {
  const daily = collections.flatMap(({ name, growth }) =>
    isCounted(growth) && growth.most === 'limits.newPerDay' ? [name] : [],
  )
  const added = new Set(routeList.flatMap(({ adds }) => adds ?? []))
  expect([...added].sort()).toEqual(daily.sort())
})

describe('the table of docs/limits.md of what is in memory', () => {
  const listed = rowsUnder('In memory').map((line) => line.split('`')[1] ?? '')

  it('names files that exist', () => {
    expect(listed.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([])
  })

  it('names each file that keeps something for later calls', () => {
    const keeping = ['src', 'adapters', 'sandbox'].flatMap((folder) => {
      const sources = new URL(`../../${folder}/`, import.meta.url)
      return readdirSync(sources, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts'))
        .filter((path) => /= memoize\(|new LimitedMap[<(]/.test(readFileSync(new URL(path, sources), 'utf8')))
        .map((path) => `${folder}/${path}`)
    })
    expect(listed).toEqual(expect.arrayContaining(keeping))
  })
})

test('the page names every error code of a limit', () => {
  const text = readFileSync(page, 'utf8')
  const codes = problemCodes.filter((code) => problemStatus(code) === 429)
  expect(codes).toContain('too_many_new')
  expect(codes.filter((code) => !text.includes(`\`${code}\``))).toEqual([])
})
