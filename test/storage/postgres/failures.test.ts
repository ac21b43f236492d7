import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { DatabaseRefused, postgresStorage } from '../../../adapters/storage/postgres.js'
import { OutcomeUnknown, type Storage, StorageUnavailable } from '../../../src/storage/storage.js'
import { CuttingProxy } from '../../support/storage/cut-connections.js'
import { onPostgres, type TestDatabase } from '../../support/storage/postgres.js'
import { newSchema } from '../../support/storage/shared-url.js'
import { accounts } from '../cases.js'

const add = (storage: Storage, to = 'a') =>
  storage.write(async (tx) => {
    const { balance } = (await tx.get(accounts, to)) ?? { balance: 0 }
    tx.put(accounts, { id: to, balance: balance + 1 })
    return balance + 1
  })
const balanceOf = async (storage: Storage, id = 'a') => (await storage.read((tx) => tx.get(accounts, id)))?.balance

async function behindProxy(
  database: TestDatabase,
  { patience }: { patience: number },
  body: (storage: Storage, proxy: CuttingProxy) => Promise<void>,
): Promise<void> {
  const { proxy, url } = await CuttingProxy.open(database.url)
  const schema = newSchema()
  const storage = await postgresStorage({ url, schema, collections: [accounts], patience })
  try {
    await body(storage, proxy)
  } finally {
    await storage.close()
    await proxy.close()
    await database.drop(schema)
  }
}

await onPostgres('A connection that is lost', (database) => {
  test('before the database got COMMIT: the write runs again, once', async () => {
    await behindProxy(database, { patience: 5000 }, async (storage, proxy) => {
      await add(storage)
      proxy.cutNext('before COMMIT')
      expect(await add(storage)).toBe(2)
      expect([await balanceOf(storage), proxy.cuts, storage.fault]).toEqual([2, 1, undefined])
    })
  })

  test('after the database got COMMIT: the storage asks, and the write does not run again', async () => {
    await behindProxy(database, { patience: 5000 }, async (storage, proxy) => {
      await add(storage)
      proxy.cutNext('after COMMIT')
      expect(await Promise.all([add(storage), add(storage), add(storage, 'b')])).toEqual([2, 3, 1])
      expect([await balanceOf(storage), await balanceOf(storage, 'b'), proxy.cuts]).toEqual([3, 1, 1])
    })
  })

  test('after the database got the COMMIT of an import: other writes that follow stay', async () => {
    await behindProxy(database, { patience: 5000 }, async (storage, proxy) => {
      proxy.cutNext('after COMMIT')
      const state = { counters: {}, rows: { accounts: [{ id: 'a', balance: 7 }] } }
      let adding: Promise<unknown> | undefined
      // It begins while the import has its turn.
      await storage.import(state, { check: async () => void (adding ??= add(storage, 'b')) })
      await adding
      expect([await balanceOf(storage), await balanceOf(storage, 'b'), proxy.cuts]).toEqual([7, 1, 1])
    })
  })

  test('for longer than the patience: writes are refused, or unknown if COMMIT was sent, until it is back', async () => {
    await behindProxy(database, { patience: 300 }, async (storage, proxy) => {
      await add(storage)
      proxy.refuse()
      await expect(add(storage)).rejects.toThrow(StorageUnavailable)
      await expect(add(storage)).rejects.not.toThrow(OutcomeUnknown)
      await expect(balanceOf(storage)).rejects.toThrow(StorageUnavailable)
      expect(storage.fault?.reason).toBe('the database cannot be reached')
      proxy.restore()
      expect([await add(storage), await balanceOf(storage), storage.fault]).toEqual([2, 2, undefined])

      proxy.cutNext('after COMMIT', { thenRefuse: true })
      await expect(add(storage)).rejects.toThrow(OutcomeUnknown)
      expect(proxy.cuts).toBe(1)
      proxy.restore()
      expect(await balanceOf(storage)).toBe(3)
    })
  })

  test('at any moment of writes, reads and an export: each is answered, and every write is stored once', async () => {
    await behindProxy(database, { patience: 10_000 }, async (storage, proxy) => {
      let pieces = 0
      // Until nothing is left to cut.
      for (; proxy.cuts === pieces; pieces++) {
        proxy.cutAfter(pieces)
        const [first, second] = await Promise.all([add(storage), add(storage), balanceOf(storage)])
        expect([first, second, await balanceOf(storage)]).toEqual([2 * pieces + 1, 2 * pieces + 2, 2 * pieces + 2])
        const { rows } = await storage.export()
        expect(rows.accounts).toEqual([{ id: 'a', balance: 2 * pieces + 2 }])
      }
      expect(pieces).toBeGreaterThan(8)
    })
  })

  test('again and again: every answered write is stored once', async () => {
    await behindProxy(database, { patience: 10_000 }, async (storage, proxy) => {
      let answered = 0
      for (let round = 0; round < 6; round++) {
        proxy.cutNext(round % 2 === 0 ? 'after COMMIT' : 'before COMMIT')
        await Promise.all(Array.from({ length: 10 }, () => add(storage).then(() => answered++)))
      }
      expect([await balanceOf(storage), answered, proxy.cuts]).toEqual([60, 60, 6])
    })
  })
})

await onPostgres('A database that cannot be used', (database) => {
  const refusal = (url: string, schema = newSchema()) =>
    postgresStorage({ url, schema, patience: 1000 }).then(
      () => 'opened',
      (error: unknown) => (error instanceof DatabaseRefused ? error.message : error),
    )

  test('is refused in one line that says what to do, without the password', async () => {
    const other = new URL(database.url)
    other.password = 'top-secret'
    expect(await refusal('mysql://u:top-secret@db.example.test/x')).toBe(
      'the URL of a database looks like postgres://user:password@host:5432/name',
    )
    other.port = '1'
    expect(await refusal(other.href)).toBe(
      `cannot connect to the database ${other.username}@${other.host}/postgres: nothing listens there`,
    )
    const missing = new URL(database.url)
    missing.pathname = '/no_such_database'
    expect(await refusal(missing.href)).toMatch(/^there is no database .*\/no_such_database: create it/)
  })

  test('says that the password is wrong', async () => {
    const refusing = createServer((socket) => {
      const fields = 'SFATAL\0C28P01\0Mpassword authentication failed for user "u"\0\0'
      const length = Buffer.alloc(4)
      length.writeInt32BE(fields.length + 4)
      socket.on('error', () => {})
      socket.once('data', () => socket.end(Buffer.concat([Buffer.from('E'), length, Buffer.from(fields)])))
    })
    await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
    const { port } = refusing.address() as { port: number }
    const message = await refusal(`postgres://u:top-secret@127.0.0.1:${port}/x`)
    expect(message).toBe(
      `the database refuses the user of u@127.0.0.1:${port}/x: the password is wrong, or there is no such user`,
    )
    await new Promise((resolve) => refusing.close(resolve))
  })

  test('is refused if its schema holds something else', async () => {
    const schema = newSchema()
    await database.sql(`create schema ${schema}; create table ${schema}.orders (id int)`)
    expect(await refusal(database.url, schema)).toMatch(/holds something else than the tables of farthing/)
    expect(await database.sql(`select count(*)::int as rows from ${schema}.orders`)).toEqual([{ rows: 0 }])
    await database.drop(schema)
  })
})
