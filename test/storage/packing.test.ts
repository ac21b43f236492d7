import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JournaledCommit } from '../../adapters/storage/file/commit.js'
import { parseLine } from '../../adapters/storage/file/line.js'
import { Packing, Unpacking } from '../../adapters/storage/file/packing.js'
import { createService } from '../../src/index.js'
import type { Row } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'
import { useFileStorages } from '../support/storage/file-storages.js'

const texts = fc.constantFrom('', '~', '~0', '~~1', 'a', 'x'.repeat(20), '~'.repeat(21), 'é"\\\n\ud800'.repeat(6), '0')
const plain = fc.oneof(
  texts,
  fc.constantFrom(0, -0, 1.5, 1e21, -3, true, null, undefined),
  fc.jsonValue({ maxDepth: 2 }),
)
const values = fc.oneof(
  plain,
  fc.dictionary(fc.oneof(texts, fc.constantFrom('__proto__', '7', 'b')), plain, { maxKeys: 4 }),
)
const names = fc.constantFrom('a', 'b', 'c', '__proto__', '12', 'long name of a field')
const rows = fc.dictionary(names, values, { maxKeys: 4 }).map((row): Row => Object.assign(row, { id: 1 }))
const commits = fc.record({
  rows: fc.dictionary(fc.constantFrom('notes', 'others', '9'), fc.array(rows, { maxLength: 3 })),
  counters: fc.option(fc.constant({ notes: 1 }), { nil: undefined }),
  removed: fc.option(fc.constant({ notes: [1, '~0'] }), { nil: undefined }),
})
/** Several writes, each of several commits. */
const writes = fc.array(fc.array(commits, { minLength: 1, maxLength: 4 }), { maxLength: 3 }).map((all) => {
  let commit = 0
  return all.map((write) => write.map((each): JournaledCommit => ({ commit: ++commit, ...each })))
})

const read = (unpacking: Unpacking, line: string): JournaledCommit => {
  const parsed = parseLine(Buffer.from(line.trimEnd()))
  if (!parsed || !('object' in parsed)) throw new Error(`not a line: ${line}`)
  const { checksum: _, ...packed } = parsed.object
  return unpacking.commitOf(packed as unknown as JournaledCommit)
}
/** Its members may be in any order, and those of its rows may not. */
const asJson = ({ commit, counters, rows, removed }: JournaledCommit) =>
  JSON.stringify({ commit, counters, rows, removed })

/** Rows whose texts must be opened once, in an object before a field that is no plain one. */
const opened: JournaledCommit[] = [1, 2, 3].map((commit) => ({
  commit,
  rows: { notes: [JSON.parse(`{"a":{"b":"~~${commit}","c":"${'x'.repeat(20)}"},"__proto__":{"d":"~"},"id":1}`)] },
}))

describe('commits that are written together', () => {
  test('are read as they were, whatever their rows hold', () => {
    fc.assert(
      fc.property(writes, (writes) => {
        const unpacking = new Unpacking()
        for (const write of writes) {
          const packing = new Packing()
          for (const commit of write) {
            const lines = packing.lineOf(commit)
            expect(asJson(read(unpacking, lines))).toBe(asJson(commit))
          }
        }
      }),
      { numRuns: howMuch(200, 1000), examples: [[[opened]]] },
    )
  })

  test('are refused, and never read as others, when a line is missing', () => {
    fc.assert(
      fc.property(writes, fc.nat(), (writes, missing) => {
        const lines = writes.flatMap((write) => {
          const packing = new Packing()
          return write.map((commit) => ({ commit, line: packing.lineOf(commit) }))
        })
        const unpacking = new Unpacking()
        for (const [at, { commit, line }] of lines.entries()) {
          if (at === missing % lines.length) continue
          let found: JournaledCommit | undefined
          try {
            found = read(unpacking, line)
          } catch (error) {
            expect(error).toBeInstanceOf(TypeError)
          }
          if (found) expect(asJson(found)).toBe(asJson(commit))
        }
      }),
      { numRuns: howMuch(200, 1000) },
    )
  })

  test('do without one that is not JSON', () => {
    const packing = new Packing()
    const unpacking = new Unpacking()
    const note = (commit: number, body: unknown): JournaledCommit => ({
      commit,
      rows: { notes: [{ id: commit, body, text: 'x'.repeat(30) } as Row] },
    })
    for (const commit of [1, 2])
      expect(read(unpacking, packing.lineOf(note(commit, 'y'.repeat(30))))).toEqual(note(commit, 'y'.repeat(30)))
    expect(() => packing.lineOf(note(3, { text: 'z'.repeat(30), number: 1n }))).toThrow(TypeError)
    for (const commit of [3, 4, 5])
      expect(read(unpacking, packing.lineOf(note(commit, 'z'.repeat(30))))).toEqual(note(commit, 'z'.repeat(30)))
  })
})

const storages = useFileStorages()

test.for([
  { atOnce: 1, bytes: 2200 },
  { atOnce: 32, bytes: 900 },
])('$atOnce payments at once take at most $bytes bytes of the journal each', async ({ atOnce, bytes }) => {
  const service = createService({ storage: await storages.open(), sandbox: true })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 1000 })
  const { hash } = await newCommodity(call, seller)
  const size = async () => {
    let sum = 0
    for (const name of await readdir(storages.directory))
      if (name.includes('.journal.')) sum += (await stat(join(storages.directory, name))).size
    return sum
  }
  const pay = () => call('POST', `/v4/payment/${hash}`, { token: payer.token, body: {} })
  expect((await pay()).status).toBe(202)
  const before = await size()
  for (let round = 0; round < 64 / atOnce; round++) await Promise.all(Array.from({ length: atOnce }, pay))
  expect(((await size()) - before) / 64).toBeLessThan(bytes)
  await service.close()
})
