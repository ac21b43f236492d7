import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { getExisting, getOrNotFound, mapInOrder, ReadOnce } from '../../src/storage/page.js'
import { collection } from '../../src/storage/storage.js'

interface Coin {
  readonly id: number
  readonly worth: string
}
const coins = collection<Coin>()('coins', {})

test('getExisting returns the row with that id', async () => {
  const storage = memoryStorage()
  await storage.write(async (tx) => tx.put(coins, { id: 7, worth: '1' }))
  expect(await storage.read((tx) => getExisting(tx, coins, 7))).toEqual({ id: 7, worth: '1' })
})

test('getExisting names the collection and the id of a row that is missing', async () => {
  const storage = memoryStorage()
  await expect(storage.read((tx) => getExisting(tx, coins, 8))).rejects.toThrow('coins has no row 8')
})

test('getOrNotFound returns the row if it has the values, and else it is not found', async () => {
  const storage = memoryStorage()
  await storage.write(async (tx) => tx.put(coins, { id: 7, worth: '1' }))
  const get = (id: number, values?: Partial<Coin>) => storage.read((tx) => getOrNotFound(tx, coins, id, values))
  for (const values of [undefined, {}, { worth: '1' }, { id: 7, worth: '1' }])
    expect(await get(7, values)).toEqual({ id: 7, worth: '1' })
  for (const values of [{ worth: '2' }, { id: 7, worth: '2' }, { id: 8, worth: '1' }])
    await expect(get(7, values)).rejects.toMatchObject({ code: 'not_found' })
  await expect(get(8)).rejects.toMatchObject({ code: 'not_found' })
})

test('ReadOnce asks once for each row, found or not, in each collection', async () => {
  const others = collection<Coin>()('others', {})
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    for (const id of [1, 2, 3]) tx.put(coins, { id, worth: `${id}` })
    tx.put(others, { id: 1, worth: 'other' })
  })
  await storage.read(async (tx) => {
    const asked: unknown[] = []
    const once = new ReadOnce({
      get: () => Promise.reject(new Error('a list never reads row by row')),
      getMany(from, ids) {
        asked.push([from.name, ...ids])
        return tx.getMany(from, ids)
      },
      find: (from, query) => tx.find(from, query),
    })
    const worth = async (...ids: number[]) => (await once.getMany(coins, ids)).map((coin) => coin?.worth)
    expect(await worth(2, 9, 2)).toEqual(['2', undefined, '2'])
    expect(await worth(9, 1, 2)).toEqual([undefined, '1', '2'])
    expect(await worth(1, 2)).toEqual(['1', '2'])
    expect(await once.find(coins, { index: 'id', prefix: [3], limit: 1 })).toEqual([{ id: 3, worth: '3' }])
    expect([await once.get(coins, 3), await once.get(coins, 9)]).toEqual([{ id: 3, worth: '3' }, undefined])
    expect(await once.get(others, 1)).toEqual({ id: 1, worth: 'other' })
    expect(asked).toEqual([
      ['coins', 2, 9],
      ['coins', 1],
      ['others', 1],
    ])
  })
})

test('mapInOrder begins with an item when the one before has ended', async () => {
  const steps: string[] = []
  const changed = await mapInOrder(new Set([1, 2]), async (item) => {
    steps.push(`begins ${item}`)
    await Promise.resolve()
    steps.push(`ends ${item}`)
    return item * 10
  })
  expect(changed).toEqual([10, 20])
  expect(steps).toEqual(['begins 1', 'ends 1', 'begins 2', 'ends 2'])
})
