import { expect } from 'vitest'
import { notes } from '../support/storage/storage-model.js'
import { type Account, accounts, find, type Law } from './cases.js'

export function serializabilityCases(law: Law): void {
  law('loses none of 200 concurrent increments', async ({ storage }) => {
    const increment = () =>
      storage.write(async (tx) => {
        const { balance } = (await tx.get(accounts, 'a')) ?? { balance: 0 }
        tx.put(accounts, { id: 'a', balance: balance + 1 })
      })
    await Promise.all(Array.from({ length: 200 }, increment))
    expect(await storage.read((tx) => tx.get(accounts, 'a'))).toEqual({ id: 'a', balance: 200 })
  })

  law('lets only one of two writes go ahead when each reads what the other changes', async ({ storage }) => {
    for (let round = 0; round < 10; round++) {
      await storage.write(async (tx) => ['a', 'b'].forEach((id) => tx.put(accounts, { id, balance: 1 })))
      const leave = (id: string) =>
        storage.write(async (tx) => {
          const present = await tx.find(accounts, { index: 'id', prefix: [], limit: 9 })
          if (present.reduce((sum, { balance }) => sum + balance, 0) > 1) tx.put(accounts, { id, balance: 0 })
        })
      await Promise.all([leave('a'), leave('b')])
      const left = await storage.read((tx) => tx.find(accounts, { index: 'id', prefix: [], limit: 9 }))
      expect(left.map(({ balance }) => balance).sort()).toEqual([0, 1])
    }
  })

  law('lets only one of many writes insert a row that each looks for first', async ({ storage }) => {
    const insert = (id: number) =>
      storage.write(async (tx) => {
        const found = await tx.find(notes, { index: 'byOwner', prefix: ['o'], limit: 1 })
        if (found.length === 0) tx.put(notes, { id, owner: 'o' })
      })
    await Promise.all(Array.from({ length: 20 }, (_, id) => insert(id)))
    expect(await find(storage, {})).toHaveLength(1)
  })

  law('never shows a reader half of a write', async ({ storage }) => {
    await storage.write(async (tx) => ['a', 'b'].forEach((id) => tx.put(accounts, { id, balance: 50 })))
    const move = (amount: number) =>
      storage.write(async (tx) => {
        const [a, b] = [(await tx.get(accounts, 'a')) as Account, (await tx.get(accounts, 'b')) as Account]
        tx.put(accounts, { ...a, balance: a.balance - amount })
        tx.put(accounts, { ...b, balance: b.balance + amount })
      })
    const sum = () =>
      storage.read(async (tx) => {
        const a = (await tx.get(accounts, 'a')) as Account
        await new Promise((resolve) => setTimeout(resolve))
        return a.balance + ((await tx.get(accounts, 'b')) as Account).balance
      })
    const work = Array.from({ length: 20 }, (_, i) => [move(i), sum()])
    const sums = (await Promise.all(work.flat())).filter((value) => value !== undefined)
    expect(sums).toEqual(Array.from({ length: 20 }, () => 100))
  })

  law('shows each write to every call that begins after it resolved', async ({ storage }) => {
    for (let balance = 1; balance <= 20; balance++) {
      await storage.write(async (tx) => tx.put(accounts, { id: 'a', balance }))
      expect(await storage.read((tx) => tx.get(accounts, 'a'))).toEqual({ id: 'a', balance })
    }
  })

  law('never gives a number twice, and always gives a later call a higher one', async ({ storage }) => {
    const numbers = await Promise.all(Array.from({ length: 100 }, () => storage.write((tx) => tx.nextId('order'))))
    expect(new Set(numbers).size).toBe(100)
    expect(numbers.every((given) => Number.isSafeInteger(given) && given > 0)).toBe(true)
    const both = await storage.write(async (tx) => [await tx.nextId('order'), await tx.nextId('order')])
    expect(both[0]).toBeGreaterThan(Math.max(...numbers))
    expect(both[1]).toBeGreaterThan(both[0] as number)
  })

  law('gives a number for each name at once, as many calls would', async ({ storage }) => {
    const [before, given, after] = await storage.write(async (tx) => [
      await tx.nextId('order'),
      await tx.nextIds(['order', 'entry', 'order', 'entry', 'entry']),
      await tx.nextIds(['entry', 'order']),
    ])
    expect(await storage.write((tx) => tx.nextIds([]))).toEqual([])
    const orders = [before, given[0], given[2], after[1]] as number[]
    const entries = [given[1], given[3], given[4], after[0]] as number[]
    for (const numbers of [orders, entries]) {
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
      expect(numbers.every((number) => Number.isSafeInteger(number) && number > 0)).toBe(true)
    }
    const blocks = await Promise.all(
      Array.from({ length: 50 }, () => storage.write((tx) => tx.nextIds(['order', 'order']))),
    )
    expect(new Set([...orders, ...blocks.flat()]).size).toBe(104)
    expect(Math.min(...blocks.flat())).toBeGreaterThan(Math.max(...orders))
  })

  law('counts each name separately, and continues after a body that threw', async ({ storage }) => {
    const one = await storage.write((tx) => tx.nextId('one'))
    let given = 0
    const throwing = storage.write(async (tx) => {
      given = await tx.nextId('one')
      throw new Error('on purpose')
    })
    await expect(throwing).rejects.toThrow('on purpose')
    expect(await storage.write((tx) => tx.nextId('one'))).toBeGreaterThan(Math.max(one, given))
    const first = await storage.write((tx) => tx.nextId('two'))
    expect(first).toBeLessThanOrEqual(one)
  })
}
