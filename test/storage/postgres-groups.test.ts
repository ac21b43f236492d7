import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KnownCommits } from '../../adapters/storage/postgres/groups/group-changes.js'
import { CommitWatch } from '../../adapters/storage/postgres/groups/landing.js'
import { GatheredReads, View } from '../../adapters/storage/postgres/groups/view.js'
import type { Replaced } from '../../src/storage/storage.js'
import { howMuch } from '../support/how-much.js'
import { StandInRows, standInTables } from '../support/storage/stand-in-rows.js'
import { Model, type Note, notes, type Step, writes } from '../support/storage/storage-model.js'

/** Changes of the rows of notes: null removes one. */
const changesOf = (steps: readonly Step[]) => {
  const rows = new Map<Note['id'], Note | null>()
  for (const step of steps)
    if (step.do === 'put') rows.set(step.row.id, step.row)
    else if (step.do === 'remove') rows.set(step.id, null)
  return [{ collection: notes, rows }]
}

function change(model: Model, steps: readonly Step[]): void {
  for (const step of steps)
    if (step.do === 'put') model.put(step.row)
    else if (step.do === 'remove') model.remove(step.id)
}

test('A view shows what it has read with the changes since then over it, like the rows themselves', async () => {
  const groups = fc.array(writes, { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(groups, groups, async (before, after) => {
      const stored = new Model()
      for (const { steps } of before) change(stored, steps)
      const now = stored.clone()
      const view = new View(new GatheredReads(standInTables, new StandInRows(() => stored.rows)))
      for (const { steps } of after) {
        for (const step of steps) {
          if (step.do === 'get') expect(await view.get(notes, step.id)).toEqual(now.get(step.id))
          if (step.do === 'getMany')
            expect(await view.getMany(notes, step.ids)).toEqual(step.ids.map((id) => now.get(id)))
          if (step.do === 'find') expect(await view.find(notes, step.query)).toEqual(now.find(step.query))
        }
        change(now, steps)
        view.apply(changesOf(steps))
      }
      // Someone else has written, so it reads all of it again.
      for (const { steps } of after.toReversed()) change(stored, steps)
      await view.refresh()
      for (const { steps } of after)
        for (const step of steps)
          if (step.do === 'find') expect(await view.find(notes, step.query)).toEqual(stored.find(step.query))
    }),
    { numRuns: howMuch(50, 150) },
  )
})

test('Reads that are asked for in one turn become one statement for each collection and index, and none twice', async () => {
  const rows: Note[] = Array.from({ length: 50 }, (_, id) => ({ id, owner: `o${id % 5}` }))
  const database = new StandInRows(() => rows)
  const view = new View(new GatheredReads(standInTables, database))
  const body = async (n: number) => {
    const row = await view.get(notes, n)
    return view.find(notes, { index: 'byOwner', prefix: [String(row?.owner)], limit: 3 })
  }
  const bodies = () => Promise.all(rows.map((_, n) => body(n)))
  const found = await bodies()
  expect(found[7]?.map(({ id }) => id)).toEqual([2, 7, 12])
  expect(database.statements).toBe(2)
  expect(await bodies()).toEqual(found)
  expect(database.statements).toBe(2)
})

test('A process knows what changed since a commit only if all commits since then are its own', () => {
  const known = new KnownCommits()
  const own = (commit: number) => ({ commit, changes: changesOf([{ do: 'remove', id: commit }]) })
  expect(known.since(undefined, 5)).toBeUndefined()
  known.learn(5)
  known.add(own(6))
  known.add(own(7))
  expect(known.since(5, 7)).toEqual([own(6).changes, own(7).changes])
  expect(known.since(7, 7)).toEqual([])
  expect([known.since(5, 8), known.since(4, 7)]).toEqual([undefined, undefined])
  for (let commit = 8; commit < 14; commit++) known.add(own(commit))
  expect([known.since(6, 13), known.since(12, 13)]).toEqual([undefined, [own(13).changes]])
  known.forget()
  expect(known.since(13, 13)).toBeUndefined()
})

test('Others have committed if a number appears that is neither told nor on its way', () => {
  const watch = new CommitWatch()
  const told: (Replaced | 'unknown')[] = []
  watch.add((replaced) => told.push(replaced.isUnknown ? 'unknown' : replaced))
  const rows = [{ collection: notes, id: 1, row: undefined }]
  watch.notice(3)
  watch.tell(rows, 4)
  // A reader sees it before its answer has come.
  watch.notice(4)
  watch.settle(4, true)
  // Older snapshots, too.
  watch.notice(3)
  expect(told).toEqual([{ rows }])
  // One that failed gives its number to someone else.
  watch.tell(rows, 5)
  watch.settle(5, false)
  watch.notice(5)
  expect(told).toEqual([{ rows }, { rows }, 'unknown'])
})
