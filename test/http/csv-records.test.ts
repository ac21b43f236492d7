import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CsvMalformed, type CsvSource, csvRecords } from '../../src/http/csv/csv-records.js'

async function readAll(csv: CsvSource) {
  const records = []
  for await (const piece of csvRecords(csv)) records.push(...piece)
  return records
}

const TEXT = '\uFEFFwhen,what\r\n1,"a ""quoted"" cell"\r\n\r\n2,"two\nlines, 😀"\r\n3,'

const cutAt = (bytes: Uint8Array, cuts: readonly number[]) => {
  const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, at) => bytes.slice(places[at], end))
}

test('reads the same records wherever the bytes are cut', async () => {
  const bytes = new TextEncoder().encode(TEXT)
  const cuts = fc.array(fc.nat(bytes.length), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(cuts, async (at) => {
      expect(await readAll(cutAt(bytes, at))).toEqual([
        { line: 1, cells: ['when', 'what'] },
        { line: 2, cells: ['1', 'a "quoted" cell'] },
        { line: 5, cells: ['2', 'two\nlines, 😀'] },
        { line: 6, cells: ['3', ''] },
      ])
    }),
    { numRuns: 50 },
  )
})

test('reads nothing from nothing, and a text that is longer than a piece', async () => {
  expect(await readAll([])).toEqual([])
  expect(await readAll(['', ''])).toEqual([])
  const many = Array.from({ length: 20_000 }, (_, n) => `${n},😀`)
  const records = await readAll([['when,what', ...many].join('\n')])
  expect(records.slice(1).map(({ line, cells }) => [line, cells.join(',')])).toEqual(
    many.map((text, n) => [n + 2, text]),
  )
})

test('yields the records before a line that is not CSV, and names that line', async () => {
  for (const [bad, says] of [
    ['3,4,5', 'as many cells as the header'],
    ['"3"4,5', 'a comma or the end of the line'],
  ] as const) {
    const records: unknown[] = []
    const error = await (async () => {
      for await (const piece of csvRecords(['a,b\n1,2\n', `${bad}\n`])) records.push(...piece)
    })().catch((cause: unknown) => cause)
    expect(records).toHaveLength(2)
    expect(error).toBeInstanceOf(CsvMalformed)
    expect(error).toMatchObject({ line: 3, message: expect.stringContaining(says) })
  }
})
