import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { idsWithWord, reindex, type WordRow, wordIndex, wordsOf } from '../../src/storage/word-index.js'
import { howMuch } from '../support/how-much.js'

const words = wordIndex('words', 'Their row goes.')

const texts: [text: string, words: string[]][] = [
  ['', []],
  [' .,-! ', []],
  ['One two,one TWO', ['one', 'two']],
  ['Ünïcode naïve e\u0301t\u00e9', ['ünïcode', 'naïve', 'e\u0301t\u00e9']],
  ['4K 2nd 007', ['4k', '2nd', '007']],
  ['漢字かなカナ', ['漢', '字', 'か', 'な', 'カ', 'ナ']],
  ['tea茶time', ['tea', '茶', 'time']],
  ['ไทย', ['ไ', 'ท', 'ย']],
  ['x'.repeat(40), ['x'.repeat(32)]],
  [`${'x'.repeat(32)}a ${'x'.repeat(32)}b`, ['x'.repeat(32), 'x'.repeat(32)]],
]

test.each(texts)('the words of %j', (text, expected) => {
  expect(wordsOf(text)).toEqual([...new Set(expected)])
})

/** The ids that a search finds, as the index promises it: 16 words, and 400 rows of 128 ids, the highest first. */
function expectedIds(rows: readonly WordRow[], prefix: string): Set<number> {
  const sought = prefix.slice(0, 32)
  const matching = [...new Set(rows.map(({ word }) => word))].sort().filter((word) => word.startsWith(sought))
  return new Set(
    matching
      .slice(0, 16)
      .flatMap((word) => rows.filter((row) => row.word === word).sort((a, b) => b.block - a.block))
      .slice(0, 400)
      .flatMap(({ ids }) => ids),
  )
}

const few = fc.subarray(['a', 'ab', 'abc', 'b', 'x'.repeat(32)])

test('ids are found by the words that they have now, and by how these begin', async () => {
  // 127 and 128 are in two blocks.
  const steps = fc.array(fc.tuple(fc.constantFrom(0, 1, 126, 127, 128, 300), few), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const storage = memoryStorage()
      const now = new Map<number, readonly string[]>()
      for (const [id, after] of steps) {
        await storage.write((tx) => reindex(tx, words, { id, before: now.get(id) ?? [], after }))
        now.set(id, after)
      }
      const having = (matches: (word: string) => boolean) =>
        [...now].flatMap(([id, own]) => (own.some(matches) ? [id] : [])).sort((a, b) => a - b)
      for (const prefix of ['a', 'ab', 'abcd', 'b', '', 'x'.repeat(40)]) {
        const found = await storage.read((tx) => idsWithWord(tx, words, prefix))
        expect([...found].sort((a, b) => a - b)).toEqual(having((word) => word.startsWith(prefix.slice(0, 32))))
      }
      for (const { id, word, block, ids } of ((await storage.export()).rows.words ?? []) as WordRow[]) {
        expect(id).toBe(`${word} ${block}`)
        expect(ids.every((each) => Math.floor(each / 128) === block)).toBe(true)
        const all = having((other) => other === word)
        expect(ids).toEqual(all.filter((each) => Math.floor(each / 128) === block))
        expect(ids).not.toEqual([])
      }
    }),
    { numRuns: howMuch(50, 300) },
  )
})

test('a row is neither read nor written for a word that stays', async () => {
  const storage = memoryStorage()
  await storage.write((tx) => reindex(tx, words, { id: 7, before: [], after: ['stays', 'goes'] }))
  const asked: unknown[] = []
  await storage.write(async (tx) => {
    /** A method of the transaction that notes its second argument. */
    const noted = <Call extends (of: never, given: never) => unknown>(call: Call): Call =>
      ((of: never, given: never) => {
        asked.push(given)
        return call.call(tx, of, given)
      }) as Call // It takes what the method takes.
    const spied = {
      ...{ get: tx.get.bind(tx), find: tx.find.bind(tx), nextId: tx.nextId.bind(tx), nextIds: tx.nextIds.bind(tx) },
      ...{ getMany: noted(tx.getMany), put: noted(tx.put), remove: noted(tx.remove) },
    }
    await reindex(spied, words, { id: 7, before: ['stays', 'goes'], after: ['goes', 'stays'] })
    expect(asked).toEqual([])
    await reindex(spied, words, { id: 7, before: ['stays', 'goes'], after: ['stays', 'new'] })
  })
  expect(asked).toEqual([['new 0', 'goes 0'], { id: 'new 0', word: 'new', block: 0, ids: [7] }, 'goes 0'])
})

/** How many rows each word has, and how often a search asks. */
const large: [what: string, stored: Readonly<Record<string, number>>, finds: number][] = [
  ['one word with very many ids', { a: 450 }, 2],
  ['a word that leaves one row for the next', { aa: 399, ab: 5, ac: 5 }, 4],
  ['a word that leaves none for the next', { aa: 400, ab: 5 }, 2],
  ['more words than it looks up', Object.fromEntries([...'abcdefghijklmnopqr'].map((end) => [`a${end}`, 1])), 32],
]

test.each(large)('a search reads a bounded number of rows: %s', async (_, stored, expectedFinds) => {
  const storage = memoryStorage()
  const rows = Object.entries(stored).flatMap(([word, blocks], n) =>
    Array.from(
      { length: blocks },
      (_, block): WordRow => ({
        id: `${word} ${block}`,
        word,
        block,
        ids: [block * 128 + n],
      }),
    ),
  )
  await storage.write(async (tx) => rows.forEach((row) => tx.put(words, row)))
  let finds = 0
  const found = await storage.read((tx) =>
    idsWithWord(
      {
        ...{ get: tx.get.bind(tx), getMany: tx.getMany.bind(tx) },
        find(from, query) {
          finds++
          return tx.find(from, query)
        },
      },
      words,
      'a',
    ),
  )
  expect([...found].sort()).toEqual([...expectedIds(rows, 'a')].sort())
  expect(finds).toBe(expectedFinds)
})
