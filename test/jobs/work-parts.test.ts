import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { runInParts } from '../../src/jobs/schedule/due.js'
import { collection, type Reader, type Row } from '../../src/storage/storage.js'

interface Note extends Row {
  readonly id: string
  readonly by: number
}

const notes = collection<Note>()('notes', {})
const failures = collection<Note>()('failures', {})

const idsIn = async (tx: Reader, from: typeof notes) =>
  (await tx.find(from, { index: 'id', prefix: [], limit: 99 })).map(({ id, by }) => `${id} ${by}`)

/** Which pieces of work fail. Each writes a row of its own, writes over a shared one, and removes that of the one before. */
const cases: [failing: readonly number[], kept: readonly string[]][] = [
  [[], ['own 3 3', 'shared 3']],
  [[1], ['own 3 3', 'shared 3']],
  [[3], ['own 2 2', 'shared 2']],
  [[2], ['own 1 1', 'own 3 3', 'shared 3']],
  [
    [1, 2, 3],
    ['first 0', 'shared 0'],
  ],
]

test.each(cases)(
  'what the pieces %j of three wrote is undone alone, and each record holds what its piece wrote',
  async (failing, kept) => {
    const storage = memoryStorage()
    await storage.write(async (tx) => {
      tx.put(notes, { id: 'shared', by: 0 })
      tx.put(notes, { id: 'first', by: 0 })
    })
    const parts = await storage.write((tx) =>
      runInParts(
        tx,
        [1, 2, 3],
        async (part, n) => {
          // A piece sees what those before it have written, and nothing of those that failed.
          const seen = await part.get(notes, 'shared')
          expect(seen?.by).toBe(Math.max(0, ...[1, 2].filter((other) => other < n && !failing.includes(other))))
          part.put(notes, { id: `own ${n}`, by: n })
          part.put(notes, { id: 'shared', by: n })
          part.remove(notes, n === 1 ? 'first' : `own ${n - 1}`)
          await Promise.resolve()
          if (failing.includes(n)) throw new Error(`${n} fails`)
        },
        async (outer, n) => outer.put(failures, { id: `failure ${n}`, by: n }),
      ),
    )
    const expected = failing.includes(1) && !failing.includes(2) ? ['first 0', ...kept] : kept
    expect(await storage.read((tx) => idsIn(tx, notes))).toEqual(expected)
    expect(await storage.read((tx) => idsIn(tx, failures))).toEqual(failing.map((n) => `failure ${n} ${n}`))
    expect(parts.map(({ work, failure }) => [work, failure !== undefined])).toEqual(
      [1, 2, 3].map((n) => [n, failing.includes(n)]),
    )
    for (const { work, written } of parts)
      expect(written.rowChanges.map(({ id, is }) => [id, is !== undefined])).toEqual([
        [`own ${work}`, true],
        ['shared', true],
        [work === 1 ? 'first' : `own ${work - 1}`, false],
      ])
  },
)
