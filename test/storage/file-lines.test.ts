import fs from 'node:fs/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Group, groupsOf } from '../../adapters/storage/file/block.js'
import {
  ChecksumOfLines,
  isTorn,
  linesIn,
  listLine,
  objectLine,
  parseLine,
  readLines,
} from '../../adapters/storage/file/line.js'
import { commonFields, guessedId, listOf, partsOf, rowOf } from '../../adapters/storage/file/row-line.js'
import { compareParts } from '../../src/storage/key.js'
import type { Key, Row } from '../../src/storage/storage.js'
import { ROWS_PER_CHUNK } from '../../src/storage/tables/rows.js'
import { howMuch } from '../support/how-much.js'
import { VirtualDisk } from '../support/storage/virtual/disk.js'
import { withMounted } from '../support/storage/virtual/mount.js'

/** What the lines of the file storage say, against plain models. */

const numRuns = howMuch(30, 600)
const json = fc.jsonValue({ maxDepth: 2 })
const texts = fc.constantFrom('', 'a', 'é', '"', '\\', '\\"', ',', '[{', '}]', '\n', '\ud800')
const values = fc.oneof(texts, fc.constantFrom(0, -1.5, true, null), json, fc.array(texts), fc.dictionary(texts, texts))

const lineOf = (content: object): Buffer =>
  Buffer.from(Array.isArray(content) ? listLine(JSON.stringify(content)) : objectLine(content))
const contents = fc.oneof(fc.dictionary(texts, values, { minKeys: 1 }), fc.array(values, { minLength: 1 }))

test('a line is read as it was written, and no line that differs in a byte is read at all', () => {
  fc.assert(
    fc.property(contents, fc.nat(255), (content, other) => {
      const line = lineOf(content)
      expect(line.indexOf('\n')).toBe(line.length - 1)
      const bytes = line.subarray(0, -1)
      const read = parseLine(bytes)
      if (Array.isArray(content))
        expect(JSON.stringify(read && 'list' in read && read.list.slice(1))).toBe(JSON.stringify(content))
      else {
        const { checksum, ...rest } = (read && 'object' in read && read.object) || {}
        expect(JSON.stringify(rest)).toBe(JSON.stringify(content))
        expect(Number.parseInt(String(checksum), 16)).toBe(read?.checksum)
      }
      for (const [at, byte] of bytes.entries()) {
        const changed = Buffer.from(bytes)
        changed[at] = byte === other ? other ^ 1 : other
        expect(parseLine(changed), `byte ${at}`).toBeUndefined()
        expect(parseLine(bytes.subarray(0, at)), `${at} bytes`).toBeUndefined()
      }
      for (const more of ['\0', ' ', '}', ']'])
        expect(parseLine(Buffer.concat([bytes, Buffer.from(more)]))).toBeUndefined()
    }),
    { numRuns },
  )
})

test('a checksum that adds up to the right number in other digits is refused', () => {
  /** Characters whose codes a sloppy reader of hex digits takes for these values. */
  const spelled = (value: number) => [48 + value, 55 + value, 87 + value].map((code) => String.fromCharCode(code))
  let tried = 0
  for (let n = 0; n < 40; n++)
    for (const [content, start] of [
      [{ n }, -10],
      [[n], 2],
    ] as const) {
      const line = lineOf(content).toString('latin1').trimEnd()
      const from = start < 0 ? line.length + start : start
      const digits = line.slice(from, from + 8)
      for (const [at, digit] of [...digits].entries()) {
        const value = Number.parseInt(digit, 16)
        const before = Number.parseInt(digits[at - 1] ?? '0', 16)
        const lent = before > 0 ? spelled(value + 16).map((odd) => `${(before - 1).toString(16)}${odd}`) : []
        const respelled = [
          ...spelled(value).map((odd) => digits.slice(0, at) + odd + digits.slice(at + 1)),
          ...lent.map((two) => digits.slice(0, at - 1) + two + digits.slice(at + 1)),
        ].filter((each) => each !== digits)
        for (const each of respelled) {
          tried++
          const bytes = Buffer.from(line.slice(0, from) + each + line.slice(from + 8), 'latin1')
          expect(parseLine(bytes), bytes.toString('latin1')).toBeUndefined()
        }
      }
    }
  expect(tried).toBeGreaterThan(1000)
})

test.each(['', '{', '[', '1', 'null', '"a"', '{}', '[]', '["00000000",]'])('%s is no line', (text) => {
  expect(parseLine(Buffer.from(text))).toBeUndefined()
})

test('the checksum of lines shows that one is missing, doubled or in a different place', () => {
  const sumOf = (checksums: readonly number[]) => {
    const sum = new ChecksumOfLines()
    for (const each of checksums) sum.add(each)
    return sum.value
  }
  const checksums = [0xffffffff, 1, 0x80000000, 0x7fffffff, 5]
  const model = checksums.reduce((sum, each) => (sum * 31n + BigInt(each)) & 0xffffffffn, 0n)
  expect(sumOf(checksums)).toBe(model.toString(16).padStart(8, '0'))
  const others = [checksums.slice(1), checksums.slice(0, -1), checksums.toReversed(), [...checksums, 5]]
  expect(new Set([...others, checksums].map(sumOf)).size).toBe(5)
})

test('a file is read line by line, however long its lines are', async () => {
  const disk = new VirtualDisk('/virtual-lines')
  const file = '/virtual-lines/file'
  const pieces = fc.constantFrom(
    '',
    'a',
    'é\n',
    '\n',
    '\n\n',
    'x'.repeat(16_383),
    'y'.repeat(16_384),
    `${'z'.repeat(1 << 20)}\n`,
  )
  await withMounted(disk, () =>
    fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 8 }), async (list) => {
        const text = list.join('')
        await withText(file, text)
        const bytes = Buffer.from(text)
        const found = []
        for await (const lines of readLines(file)) found.push(...lines)
        const parts = text.split('\n')
        const last = parts.pop() ?? ''
        expect(found.map((line) => line.bytes.toString() + (line.isWhole ? '\n' : '')).join('')).toBe(text)
        expect(found.map(({ number }) => number)).toEqual(found.map((_, at) => at + 1))
        expect(found.map(({ isWhole }) => isWhole)).toEqual([...parts.map(() => true), ...(last === '' ? [] : [false])])
        let end = 0
        for (const line of found) {
          end += line.bytes.length + (line.isWhole ? 1 : 0)
          expect(line.end).toBe(end)
        }
        expect(end).toBe(bytes.length)
        expect([...linesIn(bytes)].map(String)).toEqual(parts)
      }),
      { numRuns: howMuch(20, 200) },
    ),
  )
  expect(disk.openFiles).toBe(0)
})

async function withText(file: string, text: string): Promise<void> {
  const handle = await fs.open(file, 'w')
  await handle.writeFile(text)
  await handle.close()
}

test('a line is torn if its end is missing, or if it has much that is empty, or less up to the end of a sector', () => {
  const runs = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.constantFrom(0, 1, 2, 15, 16, 17)), {
    maxLength: 6,
  })
  fc.assert(
    fc.property(runs, fc.integer({ min: 0, max: 1023 }), fc.boolean(), (list, start, isWhole) => {
      const bytes = Buffer.concat(
        list.map(([filled, empty]) => Buffer.concat([Buffer.alloc(filled, 'x'), Buffer.alloc(empty)])),
      )
      const empty = [...bytes.toString('latin1').matchAll(/\0+/g)]
      const isCut = empty.some(
        ({ index, 0: { length } }) => length >= 16 || (length > 1 && (start + index + length) % 512 === 0),
      )
      const end = start + bytes.length + 1
      expect(isTorn({ bytes, number: 2, end, isWhole })).toBe(!isWhole || isCut)
    }),
    { numRuns: howMuch(300, 3000) },
  )
  // Random lines seldom end an empty part at a sector.
  for (const length of [1, 2, 15])
    for (const after of [511, 512, 513, 1024]) {
      const bytes = Buffer.concat([Buffer.alloc(10, 'x'), Buffer.alloc(length), Buffer.from('xx')])
      const end = after + 3
      expect(isTorn({ bytes, number: 2, end, isWhole: true }), `${length} up to ${after}`).toBe(
        length > 1 && after % 512 === 0,
      )
    }
})

const names = fc.constantFrom('owner', 'body', '__proto__', 'a "name"', '7')
const row = fc.tuple(
  fc.uniqueArray(names, { maxLength: 3 }),
  fc.array(values, { minLength: 3, maxLength: 3 }),
  fc.nat(9),
  fc.nat(3),
)
const rows = fc.array(
  row.map(([fields, list, id, place]) => {
    const all = fields.map((field, at): [string, unknown] => [field, list[at]])
    all.splice(place, 0, ['id', id])
    return Object.fromEntries(all) as unknown as Row
  }),
  { minLength: 1, maxLength: 6 },
)
const fieldsOf = (each: object) => Object.keys(each)

/** The most frequent fields, and of several the first. */
function modelOfFields(all: readonly (readonly string[])[]): readonly string[] {
  const count = (fields: readonly string[]) => all.filter((each) => `${each}` === `${fields}`).length
  return all.reduce((most, each) => (count(each) > count(most) ? each : most), all[0] ?? [])
}

test('a line of a row holds all of it, whatever the fields of the other rows are', () => {
  fc.assert(
    fc.property(rows, fc.array(fc.uniqueArray(names, { maxLength: 2 }), { maxLength: 4 }), (list, known) => {
      const fields = commonFields(list, known)
      expect(fields).toEqual(modelOfFields([...known, ...list.map(fieldsOf)]))
      for (const each of list) {
        const read = parseLine(Buffer.from(listLine(listOf(each, fields)).trimEnd()))
        const values = (read && 'list' in read && read.list) || []
        expect(JSON.stringify(rowOf(values, fields))).toBe(JSON.stringify(each))
        const isListed = `${fields}` === `${fieldsOf(each)}` && !fields.includes('__proto__')
        expect(values.length).toBe(isListed ? fields.length + 1 : 2)
      }
    }),
    { numRuns },
  )
})

test.each([[[1]], [['0']], [['0', 1]], [['0', 1, 2, 3]], [['0', null, 2]], [['0', { owner: 1 }]], [['0', [1, 2]]]])(
  '%j is no row with an id and an owner',
  (list) => {
    expect(rowOf(list, ['id', 'owner'])).toBeUndefined()
  },
)

test('the fields of many rows are judged by rows from all of them', () => {
  const many = Array.from({ length: 1000 }, (_, id) => (id % 100 < 5 || id < 40 ? { id, odd: 1 } : { id, owner: 1 }))
  expect([commonFields(many), commonFields([]), commonFields([], [['a'], ['b'], ['b']])]).toEqual([
    ['id', 'owner'],
    [],
    ['b'],
  ])
})

test('some fields of rows are read from their lines without the others', () => {
  fc.assert(
    fc.property(
      rows,
      fc.uniqueArray(fc.oneof(names, fc.constant('id')), { maxLength: 3 }),
      (list, wanted: string[]) => {
        const fields = commonFields(list)
        const lists = list.map((each) => listOf(each, fields))
        const bytes = Buffer.from(lists.map(listLine).join(''))
        const expected = list.map((each, at) => {
          // The line of a row with other fields names them, and gives all of it.
          if (lists[at] === JSON.stringify([each])) return each
          return Object.fromEntries(Object.entries(each).filter(([field]) => wanted.includes(field)))
        })
        expect([...partsOf(bytes, fields, new Set(wanted))]).toEqual(expected)
      },
    ),
    { numRuns: howMuch(200, 2000) },
  )
})

test.each([
  ['["0",5,"a"]', ['id', 'owner'], '5'],
  ['["0","a","b"]', ['owner', 'id'], '"b"'],
  ['["0","a"]', ['owner', 'id'], undefined],
  ['{"id":5}', ['id'], undefined],
  ['["0",5', ['id'], undefined],
])('the id in the damaged line %s with the fields %j is %s', (text, fields, id) => {
  expect(guessedId(Buffer.from(text), fields)).toBe(id)
})

test('rows are grouped by the chunks of their ids, if there are many', () => {
  const ids = fc.oneof(fc.nat(1500), fc.constantFrom<Key>(0, 511, 512, 1023, 0.5, -1, -513, 2 ** 53, 'a', '7'))
  const lists = fc.uniqueArray(ids, { maxLength: 30 }).map((list) => list.sort(compareParts))
  fc.assert(
    fc.property(lists, fc.constantFrom(0, 63, 64, 65, 1000), fc.uniqueArray(fc.nat(30)), (list, count, apart) => {
      const all = list.map((id): Row => ({ id }))
      const isApart = (each: Row) => apart.some((at) => all[at] === each)
      const chunkOf = ({ id }: Row) =>
        count >= 64 && Number.isSafeInteger(id) && Number(id) >= 0
          ? Number(id) - (Number(id) % ROWS_PER_CHUNK)
          : undefined
      const expected: Group[] = []
      for (const each of all) {
        const last = expected.at(-1)
        const [first] = last?.rows ?? []
        if (last && first && chunkOf(first) === chunkOf(each))
          expected.splice(-1, 1, { ...last, rows: [...last.rows, each] })
        else expected.push({ first: chunkOf(each), rows: [each] })
      }
      const found = [...groupsOf(all, { count, isApart })]
      expect(found).toEqual(
        expected.map(({ first, rows }) => ({ first: rows.some(isApart) ? undefined : first, rows })),
      )
    }),
    { numRuns: howMuch(200, 2000) },
  )
})
