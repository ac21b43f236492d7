import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** What reads or writes a time in the zone of the process: it differs from server to server, and tests run in one zone. */
const LOCAL =
  /\.[gs]et(?:Date|Day|FullYear|Hours|Milliseconds|Minutes|Month|Seconds|TimezoneOffset|Year)\(|\.toLocale(?:Date|Time)String\(|\bnew Date\([^()]*\)\.to(?:Locale|Date|Time)?String\(|\bnew Date\([^()]*,|\bIntl\.DateTimeFormat\b|\$\{new Date\([^()]*\)\}|\b(?:Date\.parse|new Date)\((['"`])(?:(?!\1)[^Z])*\1\)/

/** Pages show times in the zone of whoever looks at them. */
const inBrowsers = /\.client\.tsx?$|^sandbox\/(?:demo|pages|phone)\//

const root = fileURLToPath(new URL('../..', import.meta.url))

function localTimes(texts: ReadonlyMap<string, string>): string[] {
  return [...texts].flatMap(([path, text]) =>
    text.split('\n').flatMap((line, at) => (LOCAL.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
  )
}

test('no time is read or written in the time zone of the server', () => {
  const texts = ['src', 'adapters', 'sandbox'].flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => /\.tsx?$/.test(path) && !inBrowsers.test(path))
      .map((path) => [path, readFileSync(`${root}${path}`, 'utf8')] as const),
  )
  expect(texts.length).toBeGreaterThan(500)
  expect(localTimes(new Map(texts))).toEqual([])
})

test.each([
  'new Date(at).getMonth()',
  'time.getDate() + 1',
  'day.setHours(0)',
  'at.getTimezoneOffset()',
  'new Date(2031, 0)',
  'new Date(year, month + 1)',
  'new Date(at).toString()',
  'new Date(at).toLocaleString("en")',
  'time.toLocaleDateString()',
  'new Intl.DateTimeFormat("en")',
  'Date.parse(`2031-01-31T00:00`)',
  'new Date("2031-01-31 12:00")',
  'it ended at \x24{new Date(at)}',
])('the search finds %s', (text) => expect(localTimes(new Map([['src/a.ts', text]]))).toHaveLength(1))

test.each([
  'time.getUTCMonth()',
  'time.getTime()',
  'new Date(at).toISOString()',
  'Date.UTC(2031, 0)',
  'Date.parse(`2031-01-31T00:00Z`)',
  'new Date("2031-01-31T12:00:00.000Z")',
  'rows.toLocaleString("en")',
])('the search ignores %s', (text) => expect(localTimes(new Map([['src/a.ts', text]]))).toEqual([]))
