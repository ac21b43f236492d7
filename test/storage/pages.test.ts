import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { allRows, newestFirst, newestOfAll } from '../../src/storage/page.js'
import { parseState, StateReader, stateText } from '../../src/storage/state.js'
import { collection, type Key, type State } from '../../src/storage/storage.js'

interface Line {
  readonly id: number
  readonly owner: string
  readonly other: string | null
}

const lines = collection<Line>()('lines', {
  byOwner: { fields: ['owner'] },
  byOther: { fields: ['other'] },
  byBoth: { fields: ['owner', 'other'] },
})

async function filled(count: number) {
  const storage = memoryStorage()
  const rows = Array.from(
    { length: count },
    (_, n): Line => ({
      id: n + 1,
      owner: ['a', 'b', 'c'][n % 3] ?? '',
      other: n % 4 === 0 ? 'a' : n % 5 === 0 ? 'b' : null,
    }),
  )
  await storage.write(async (tx) => rows.forEach((row) => tx.put(lines, row)))
  const ids = (matches: (row: Line) => boolean) => rows.filter(matches).map(({ id }) => id)
  return { storage, ids }
}

const places = [
  { index: 'byOwner', prefix: ['a'] },
  { index: 'byOther', prefix: ['a'] },
] as const

describe('pages', () => {
  test.each([1, 2, 3, 7, 20, 40, 41])('of %i rows hold every row once, newest first', async (limit) => {
    const { storage, ids } = await filled(120)
    const query = { index: 'byOwner' as const, prefix: ['a'] as Key[], limit }
    const pages = {
      one: (after?: number) => storage.read((tx) => newestFirst(tx, lines, { ...query, after })),
      goesOn: (after?: number) => storage.read((tx) => newestFirst(tx, lines, { ...query, after, goesOn: true })),
      all: (after?: number) => storage.read((tx) => newestOfAll(tx, lines, places, { limit, after })),
    }
    for (const [name, page] of Object.entries(pages)) {
      const found: number[] = []
      for (let after: number | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
        const { rows, next } = await page(after)
        expect(rows.length).toBeLessThanOrEqual(limit)
        // The last page says that it is.
        expect(rows).not.toEqual([])
        found.push(...rows.map(({ id }) => id))
        after = next ?? undefined
      }
      const expected = ids(({ owner, other }) => owner === 'a' || (name === 'all' && other === 'a'))
      expect(found, name).toEqual(expected.toReversed())
    }
  })

  test('refuse a cursor of another list, and one that nobody gave', async () => {
    const { storage } = await filled(30)
    for (const after of [2, 3, 999]) {
      const query = { index: 'byOwner' as const, prefix: ['a'] as Key[], after }
      await expect(storage.read((tx) => newestFirst(tx, lines, query))).rejects.toMatchObject({
        code: 'cursor_invalid',
      })
    }
    // Row 5 is under one part of the prefix only, and row 16 under the other.
    const both = (after: number) =>
      storage.read((tx) => newestFirst(tx, lines, { index: 'byBoth', prefix: ['a', 'a'], after }))
    for (const after of [5, 11, 16, 2]) await expect(both(after)).rejects.toMatchObject({ code: 'cursor_invalid' })
    expect((await both(25)).rows.map(({ id }) => id)).toEqual([13, 1])
    await expect(storage.read((tx) => newestOfAll(tx, lines, places, { after: 2 }))).rejects.toMatchObject({
      code: 'cursor_invalid',
    })
  })

  test.each([0, 1, 499, 500, 501, 1001])('of all %i rows are read to their end', async (count) => {
    const { storage } = await filled(count)
    const found: number[] = []
    await storage.read(async (tx) => {
      for await (const { id } of allRows(tx, lines, { index: 'id', prefix: [] })) found.push(id)
    })
    expect(found).toEqual(Array.from({ length: count }, (_, n) => n + 1))
  })
})

describe('the text of a state', () => {
  const hostile = ['a\nb', '],', '}}', ',"rows":{', '"x":[', '\u2028', '😀', '\\n', ''].map((name, id) => ({
    id,
    name,
  }))
  const states: State[] = [
    { counters: {}, rows: {} },
    { schema: 4, counters: { lines: 3 }, rows: { lines: [], hostile } },
    { schema: 4, counters: { '}}': 1 }, rows: { ',"rows":{': hostile, ']': [{ id: 1 }] } },
  ]
  const bytes = (text: string) => new TextEncoder().encode(text)

  test.each(states)('reads as the state that was written, line by line and as any JSON', (state) => {
    const text = [...stateText(state)].join('')
    expect(JSON.parse(text)).toEqual(state)
    expect(parseState(bytes(text))).toEqual(state)
    expect(parseState(bytes(text.trimEnd()))).toEqual(state)
    expect(parseState(bytes(JSON.stringify(state, null, 2)))).toEqual(state)
    expect(parseState(bytes(JSON.stringify(state)))).toEqual(state)
  })

  test.each([
    ['cut', (text: string) => text.slice(0, text.lastIndexOf('}}'))],
    ['followed by something', (text: string) => `${text}{}\n`],
    ['followed by a row', (text: string) => `${text}{"id":1}\n`],
    ['with a row in no collection', (text: string) => text.replace('"hostile":[\n', '')],
    ['with a line that is no row', (text: string) => text.replace('{"id":0,', '7,\n{"id":0,')],
    ['with half a row', (text: string) => text.replace('{"id":0,', '{"id":')],
    ['without counters', (text: string) => text.replace('"counters":{"lines":3}', '"counters":3')],
  ])('is refused when it is %s', (_, damage) => {
    const text = [...stateText(states[1] as State)].join('')
    expect(damage(text)).not.toBe(text)
    expect(() => parseState(bytes(damage(text)))).toThrow()
    const reader = new StateReader()
    expect(() => {
      for (const line of damage(text).split('\n')) reader.add(line)
      reader.state()
    }).toThrow()
  })
})
