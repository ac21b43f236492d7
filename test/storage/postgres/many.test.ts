import { expect, test } from 'vitest'
import { collection, type Row, type Storage, UniqueViolation } from '../../../src/storage/storage.js'
import { deferred } from '../../support/pieces.js'
import { onPostgres, type TestDatabase } from '../../support/storage/postgres.js'
import { newSchema } from '../../support/storage/shared-url.js'
import { notes } from '../../support/storage/storage-model.js'
import { type Account, accounts } from '../cases.js'

const events = collection<Row & { readonly id: number }>()('events', {})

/** Two storages over one database, as two processes have them. */
async function withTwo(
  database: TestDatabase,
  body: (both: readonly [Storage, Storage], schema: string) => Promise<void>,
): Promise<void> {
  const schema = newSchema()
  const open = () => database.open({ schema, collections: [notes, accounts, events] })
  // Both create the tables.
  const both = await Promise.all([open(), open()])
  try {
    await body(both, schema)
  } finally {
    await Promise.all(both.map((storage) => storage.close()))
  }
}

const ids = ['a', 'b', 'c', 'd']
const sumOf = (storage: Storage) =>
  storage.read(async (tx) => {
    const rows = await Promise.all(ids.map((id) => tx.get(accounts, id)))
    return rows.reduce((sum, row) => sum + (row?.balance ?? 0), 0)
  })

await onPostgres('Two storages over one database', (database) => {
  test('lose no transfer, and never show a sum that is off', async () => {
    await withTwo(database, async (both) => {
      await both[0].write(async (tx) => ids.forEach((id) => tx.put(accounts, { id, balance: 100 })))
      const moved: number[] = [0, 0, 0, 0]
      const transfer = (storage: Storage, from: number, to: number) =>
        storage.write(async (tx) => {
          const rows = await tx.getMany(accounts, [ids[from] as string, ids[to] as string])
          const [payer, payee] = rows as [Account, Account]
          tx.put(accounts, { ...payer, balance: payer.balance - 1 })
          tx.put(accounts, { ...payee, balance: payee.balance + 1 })
        })
      const work = Array.from({ length: 160 }, async (_, i) => {
        const [from, to] = [i % 4, (i + 1 + (i % 3)) % 4]
        moved[from] = (moved[from] ?? 0) - 1
        moved[to] = (moved[to] ?? 0) + 1
        await transfer(both[i % 2] as Storage, from, to)
        return i % 8 === 0 ? sumOf(both[(i + 1) % 2] as Storage) : 400
      })
      expect(new Set(await Promise.all(work))).toEqual(new Set([400]))
      const balances = await both[1].read((tx) => tx.getMany(accounts, ids))
      expect(balances.map((row) => row?.balance)).toEqual(moved.map((by) => 100 + by))
    })
  })

  test('number rows in the order in which they appear, so that who reads past the last one misses none', async () => {
    await withTwo(database, async (both) => {
      const seen: number[] = []
      let isOver = false
      const follow = async () => {
        while ((await step()) > 0 || !isOver);
      }
      const step = async () => {
        const query = { index: 'id', prefix: [], after: [seen.at(-1) ?? 0], limit: 50 } as const
        const found = await both[0].read((tx) => tx.find(events, query))
        seen.push(...found.map(({ id }) => id))
        return found.length
      }
      const following = follow()
      const emit = (storage: Storage) =>
        storage.write(async (tx) => {
          const id = await tx.nextId('events')
          tx.put(events, { id })
          return id
        })
      const given: number[] = []
      for (let wave = 0; wave < 5; wave++)
        given.push(...(await Promise.all(Array.from({ length: 20 }, (_, i) => emit(both[i % 2] as Storage)))))
      isOver = true
      await following
      while ((await step()) > 0);
      expect(seen).toEqual(given.sort((a, b) => a - b))
      expect(new Set(seen).size).toBe(100)
    })
  })

  test('give a unique key to one of many', async () => {
    await withTwo(database, async (both) => {
      const tries = await Promise.allSettled(
        Array.from({ length: 20 }, (_, id) =>
          (both[id % 2] as Storage).write(async (tx) => tx.put(notes, { id, slug: 's' })),
        ),
      )
      const lost = tries.filter((one) => one.status === 'rejected')
      expect(lost).toHaveLength(19)
      expect(lost.every(({ reason }) => reason instanceof UniqueViolation)).toBe(true)
    })
  })

  test('see a state that the other one imported, and go on from its counters', async () => {
    await withTwo(database, async ([one, other]) => {
      await one.write(async (tx) => tx.put(notes, { id: 'before' }))
      expect(await one.write((tx) => tx.nextId('n'))).toBe(1)
      await other.import({ counters: { n: 41 }, rows: { notes: [{ id: 'imported' }] } })
      const found = await one.write(async (tx) => [await tx.get(notes, 'before'), await tx.get(notes, 'imported')])
      expect(found).toEqual([undefined, { id: 'imported' }])
      expect(await one.write((tx) => tx.nextId('n'))).toBe(42)
    })
  })
})

await onPostgres('A storage that is watched', (database) => {
  test('hears what collections the others change, and that it may have missed some', async () => {
    await withTwo(database, async ([one, other], schema) => {
      const heard: (readonly string[] | undefined)[] = []
      await one.watchOthers?.((changed) => heard.push(changed))
      await one.write(async (tx) => tx.put(accounts, { id: 'a', balance: 1 }))
      await other.write(async (tx) => {
        tx.put(notes, { id: 1 })
        tx.put(events, { id: 1 })
      })
      await expect.poll(() => heard).toEqual([['notes', 'events']])
      // A body that throws changes nothing, so nobody hears of it.
      await other.write(() => Promise.reject(new Error('on purpose'))).catch(() => {})
      const listening = `query = 'listen "${schema}"'`
      await database.sql(`select pg_terminate_backend(pid) from pg_stat_activity where ${listening}`)
      await expect.poll(() => heard).toEqual([['notes', 'events'], undefined])
      await other.write(async (tx) => tx.remove(events, 1))
      await expect.poll(() => heard).toEqual([['notes', 'events'], undefined, ['events']])
    })
  })

  test('tells what each of its commits replaced, in their order, and that others have committed', async () => {
    await withTwo(database, async ([one, other]) => {
      const told: unknown[] = []
      one.watchCommits?.(({ rows, isUnknown }) => told.push(isUnknown ?? rows.map(({ id, row }) => [id, row])))
      const add = (storage: Storage) =>
        storage.write(async (tx) => {
          const { balance } = (await tx.get(accounts, 'a')) ?? { balance: 0 }
          tx.put(accounts, { id: 'a', balance: balance + 1 })
        })
      await add(one)
      // What it has not read.
      await Promise.all([add(one), one.write(async (tx) => tx.remove(accounts, 'a')), add(one)])
      const own = [undefined, { id: 'a', balance: 1 }, { id: 'a', balance: 2 }, undefined]
      expect(told).toEqual(own.map((row) => [['a', row]]))
      await add(other)
      expect(await one.read((tx) => tx.get(accounts, 'a'))).toEqual({ id: 'a', balance: 2 })
      expect(told.slice(4)).toEqual([true])
      await add(one)
      expect(told.slice(5)).toEqual([[['a', { id: 'a', balance: 2 }]]])
    })
  })
})

await onPostgres('Writes that wait in a process', (database) => {
  test('land together, and one that throws drops out alone', async () => {
    await withTwo(database, async ([storage], schema) => {
      const commits = async () => Number((await database.sql(`select commit from ${schema}._head`))[0]?.commit)
      const increment = (throws: boolean) =>
        storage.write(async (tx) => {
          const { balance } = (await tx.get(accounts, 'a')) ?? { balance: 0 }
          tx.put(accounts, { id: 'a', balance: balance + 1 })
          if (throws) throw new Error('on purpose')
        })
      const before = await commits()
      const done = await Promise.allSettled(Array.from({ length: 120 }, (_, i) => increment(i % 3 === 0)))
      expect(done.filter(({ status }) => status === 'rejected')).toHaveLength(40)
      expect(await storage.read((tx) => tx.get(accounts, 'a'))).toEqual({ id: 'a', balance: 80 })
      expect((await commits()) - before).toBeLessThanOrEqual(2)
    })
  })

  test('join those that wait for another process, and see what these have changed', async () => {
    await withTwo(database, async ([storage, other], schema) => {
      const commits = async () => Number((await database.sql(`select commit from ${schema}._head`))[0]?.commit)
      const before = await commits()
      const isHeld = deferred<void>()
      const isFree = deferred<void>()
      let runs = 0
      const hold = () =>
        other.write(async (tx) => {
          tx.put(notes, { id: await tx.nextId('notes') })
          if (++runs < 3) return
          isHeld.resolve()
          await isFree.promise
        })
      const held = [hold(), hold()]
      await isHeld.promise
      const increments: Promise<void>[] = []
      for (let n = 0; n < 10; n++) {
        const hasRun = deferred<void>()
        const increment = storage.write(async (tx) => {
          const { balance } = (await tx.get(accounts, 'a')) ?? { balance: 0 }
          tx.put(accounts, { id: 'a', balance: balance + 1 })
          hasRun.resolve()
        })
        increments.push(increment)
        await hasRun.promise
      }
      isFree.resolve()
      await Promise.all([...held, ...increments])
      expect(await storage.read((tx) => tx.get(accounts, 'a'))).toEqual({ id: 'a', balance: 10 })
      expect((await commits()) - before).toBe(2)
    })
  })

  test('ask for what they read together', async () => {
    await withTwo(database, async ([storage]) => {
      await storage.write(async (tx) => {
        for (let id = 0; id < 100; id++) tx.put(notes, { id, owner: `o${id}` })
      })
      let [runs, reads] = [0, 0]
      const counted = Array.from({ length: 100 }, (_, id) =>
        storage.write(async (tx) => {
          runs++
          const [row] = await tx.find(notes, { index: 'byOwner', prefix: [`o${id}`], limit: 1 })
          reads++
          tx.put(notes, { id, owner: `o${id}`, body: [row?.id] })
        }),
      )
      await Promise.all(counted)
      expect([runs, reads]).toEqual([200, 200])
      const found = await storage.read((tx) => tx.getMany(notes, [7, 93]))
      expect(found.map((row) => row?.body)).toEqual([[7], [93]])
    })
  })

  test('run twice if each puts a new row under a unique key, and again if they take the same one', async () => {
    await withTwo(database, async ([storage]) => {
      let runs = 0
      const add = (slug: string) =>
        storage.write(async (tx) => {
          runs++
          tx.put(notes, { id: await tx.nextId('notes'), slug })
        })
      await Promise.all(Array.from({ length: 20 }, (_, n) => add(`s${n}`)))
      expect(runs).toBe(40)
      const tries = await Promise.allSettled([add('t'), add('t'), add('s3'), add('u')])
      expect(tries.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
      const found = await storage.read((tx) => tx.find(notes, { index: 'id', prefix: [], limit: 99 }))
      expect(found).toHaveLength(22)
    })
  })

  test('fail alone if the database refuses a row of one of them', async () => {
    await withTwo(database, async ([storage]) => {
      // An index holds no key of this length, and random digits do not shrink.
      const long = Array.from({ length: 4000 }, () => Math.random().toString(36)[2]).join('')
      const written = await Promise.allSettled(
        [1, 2, 3].map((id) => storage.write(async (tx) => tx.put(notes, { id, owner: id === 2 ? long : 'o' }))),
      )
      expect(written.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(await storage.read((tx) => tx.find(notes, { index: 'id', prefix: [], limit: 9 }))).toHaveLength(2)
    })
  })
})
