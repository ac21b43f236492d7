import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { getExisting } from '../../src/storage/page.js'
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
