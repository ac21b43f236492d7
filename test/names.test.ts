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

/** Words that only farthing's own engineers knew, and what says the same to all. */
const privateWords: Readonly<Record<string, RegExp>> = {
  'every nth match': /\bmanieth\b/,
  retryNow: /\bhurry\b/,
  Heartbeats: /\bSilences\b/,
  RetryOneByOne: /\bNeedsCare\b/,
  othersCommitted: /\bisCrowded\b/,
  lockCommits: /\btakeHead\b/,
  heartbeatWhile: /\bbeatWhile\b/,
  runExclusively: /\brunAlone\b/,
  Mutex: /\bnew Turns\b/,
  slot_of: /\btaken_in\b/,
  queued_in: /\bwaits_in\b/,
  whyImpossible: /\bmisfitOf\b/,
  PortsWithoutFaults: /\bCalmPorts\b/,
  withoutPriceLookalikes: /\bbesidePrice\b/,
  responseText: /\bsaidText\b/,
  RefusedRequest: /\bAsked\b/,
  fix: /\bmend(s|ed|ing)?\b/i,
  'dead letter': /\b[uU]nsettledWork\b|_sandbox\/unsettled/,
  processes: /\bleases?\b/i,
}

/** Migrations name what older releases stored. */
const inProduct = new Map([
  ...[...texts].filter(([path]) => !path.startsWith('migrations/')),
  ...['adapters', 'sandbox'].flatMap((folder) =>
    readdirSync(new URL(`../${folder}/`, source), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
      .map((path): [string, string] => [
        `${folder}/${path}`,
        readFileSync(new URL(`../${folder}/${path}`, source), 'utf8'),
      ]),
  ),
])

/** The private names that more than five files declare, as `name: count`: each must say what it returns or holds. */
function commonNames(texts: ReadonlyMap<string, string>): string[] {
  const counts = new Map<string, number>()
  for (const text of texts.values()) {
    const declared = text.matchAll(/^(?:async )?(?:function\*?|const) (\w+)/gm)
    for (const name of new Set([...declared].map(([, name = '']) => name)))
      counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].flatMap(([name, count]) => (count > 5 ? [`${name}: ${count}`] : []))
}

describe('a word', () => {
  it.each(Object.entries(privateWords))('is the one that engineers know: %s', (_, word) => {
    const found = [...inProduct].flatMap(([path, text]) =>
      text.split('\n').flatMap((line, at) => (word.test(line) ? [`${path}:${at + 1}`] : [])),
    )
    expect(inProduct.size).toBeGreaterThan(600)
    expect(found).toEqual([])
  })

  it('says what it stands for if it is a private name of more than five files', () => {
    expect(commonNames(inProduct)).toEqual([])
  })
})
