import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { catalogItems, indexItem } from '../../src/market/catalog/item-row.js'
import { listCatalogItems } from '../../src/market/catalog/search.js'
import { commodities } from '../../src/money/commodities/commodity.js'
import type { Reader, Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { newItem } from '../support/scenes/catalog.js'
import { newSeller } from '../support/scenes/world.js'

const ITEMS = howMuch(10_000, 30_000)
const WORDS = ['weather', 'stocks', 'poems', 'maps', 'recipes', 'trains', 'songs', 'chess', 'stars', 'rivers']

/** A catalog with many copies of one item, each with words of its own. */
async function bigCatalog(): Promise<Storage> {
  const storage = memoryStorage()
  const service = createService({ storage, sandbox: true })
  const call = caller({
    url: 'http://127.0.0.1:4242',
    fetch: (request) => service.fetch(request),
    close: () => service.close(),
  })
  const { id } = await newItem(call, await newSeller(call), {})
  for (let done = 1; done < ITEMS; done += 1000)
    await storage.write(async (tx) => {
      const item = await tx.get(catalogItems, id)
      const commodity = item && (await tx.get(commodities, item.hash))
      if (!commodity) throw new Error('there is no item to copy')
      for (let n = done; n < Math.min(done + 1000, ITEMS); n++) {
        const hash = `copy-${n}`
        const name = `${WORDS[n % WORDS.length]} number ${n}`
        const description = `About ${WORDS[(n * 7) % WORDS.length]} and ${WORDS[(n * 3 + 1) % WORDS.length]}.`
        const copy = { ...item, id: id + n, hash, name, description, tool_name: hash }
        tx.put(commodities, { ...commodity, id: hash })
        tx.put(catalogItems, copy)
        await indexItem(tx, copy, [])
      }
    })
  return storage
}

function countingReader(tx: Reader, count: { rows: number }): Reader {
  return {
    get(from, id) {
      count.rows++
      return tx.get(from, id)
    },
    getMany(from, ids) {
      count.rows += ids.length
      return tx.getMany(from, ids)
    },
    async find(from, query) {
      const rows = await tx.find(from, query)
      count.rows += rows.length
      return rows
    },
  }
}

test('a search of a large catalog reads a bounded number of rows', async () => {
  const storage = await bigCatalog()
  const search = async (query: string, more: { offset?: number; createdAfter?: number } = {}) => {
    const count = { rows: 0 }
    const found = await storage.read((tx) => listCatalogItems(countingReader(tx, count), { query, ...more }))
    return { ...count, total: found.total, names: found.items.map(({ name }) => name) }
  }
  // The first search waits for the index, and runs again.
  await search('')
  const all = await search('')
  expect([all.total, all.rows]).toEqual([ITEMS, 43])
  const deep = await search('', { offset: 500 })
  expect(deep.rows).toBeLessThan(600)
  expect(deep.names[0]).toBe(`${WORDS[(ITEMS - 501) % WORDS.length]} number ${ITEMS - 501}`)

  const common = await search('weather')
  expect(common.total).toBeGreaterThan(ITEMS / 10)
  expect(common.names).toHaveLength(20)
  expect(common.rows).toBeLessThan(500)
  const both = await search('chess number')
  expect(both.rows).toBeLessThan(1000)
  expect(both.names[0]).toMatch(new RegExp(`number ${ITEMS / 100 - 1}\\d\\d$`))
  const one = ITEMS - 124
  expect(await search(`number ${one}`)).toMatchObject({ total: 1, names: [`${WORDS[one % 10]} number ${one}`] })
  expect((await search('zzz')).rows).toBeLessThan(10)
  expect((await search('n')).rows).toBeLessThan(1500)
  expect((await search('weather, stocks')).rows).toBeLessThan(5000)
  // As many words as a query has room for, and as many parts of a word.
  const letters = [...'abcdefghijklmnopqrstuvwxyz0123456789'].flatMap((letter) => [letter, `${letter}n`])
  for (const query of [letters.join(' '), letters.join('-'), 'n '.repeat(128), 'n u m n u m'])
    expect((await search(query)).rows).toBeLessThan(8000)
  expect(await search('about and number weather songs maps of 30')).toMatchObject({ total: 0 })
  expect((await search('n nu num numb numbe number ab abo abou about')).total).toBe(1000)
  expect((await search('', { createdAfter: 1 })).rows).toBeLessThan(1100)
})
