import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemRandom } from '../../src/base/ports.js'
import { type Keyring, keyring } from '../../src/base/secrets.js'
import { serviceStorage } from '../../src/storage/service-storage.js'
import { collection, type Storage } from '../../src/storage/storage.js'

interface LetterRow {
  readonly id: number
  readonly tries: number
  readonly text: string
}

const letters = collection<LetterRow>()('letters', {}, { sealed: { text: 'Unreadable' } })

/** A storage with a key that counts what it encrypts. */
function counted(inner: Storage, key = '7'.repeat(64)) {
  let encrypted = 0
  const keys = keyring(key, systemRandom)
  const counting: Keyring = {
    ...keys,
    seal(plain, context) {
      encrypted++
      return keys.seal(plain, context)
    },
  }
  return { storage: serviceStorage(inner, { keys: () => counting }), encrypted: () => encrypted }
}

const stored = async (inner: Storage) => (await inner.export()).rows.letters

test('a row whose encrypted fields stay is not encrypted again', async () => {
  const inner = memoryStorage()
  const { storage, encrypted } = counted(inner)
  await storage.write(async (tx) => tx.put(letters, { id: 1, tries: 0, text: 'Hello' }))
  const [before] = (await stored(inner)) ?? []
  await storage.write(async (tx) => {
    const [letter] = await tx.find(letters, { index: 'id', prefix: [], limit: 1 })
    if (letter) tx.put(letters, { ...letter, tries: 1 })
  })
  expect(encrypted()).toBe(1)
  expect(await stored(inner)).toEqual([{ ...before, tries: 1 }])
  expect(await storage.read((tx) => tx.get(letters, 1))).toEqual({ id: 1, tries: 1, text: 'Hello' })
})

test('a row whose encrypted fields change is encrypted again', async () => {
  const inner = memoryStorage()
  const { storage, encrypted } = counted(inner)
  await storage.write(async (tx) => tx.put(letters, { id: 1, tries: 0, text: 'Hello' }))
  await storage.write(async (tx) => {
    const letter = await tx.get(letters, 1)
    if (letter) tx.put(letters, { ...letter, text: 'Good bye' })
  })
  expect(encrypted()).toBe(2)
  expect((await storage.read((tx) => tx.get(letters, 1)))?.text).toBe('Good bye')
})

test('what a transaction read under one id is not stored under another', async () => {
  const inner = memoryStorage()
  const { storage, encrypted } = counted(inner)
  await storage.write(async (tx) => tx.put(letters, { id: 1, tries: 0, text: 'Hello' }))
  await storage.write(async (tx) => {
    const letter = await tx.get(letters, 1)
    if (letter) tx.put(letters, { ...letter, id: 2 })
  })
  expect(encrypted()).toBe(2)
  expect((await storage.read((tx) => tx.get(letters, 2)))?.text).toBe('Hello')
})

test('a row of another key keeps its encrypted fields, and the right key still opens them', async () => {
  const inner = memoryStorage()
  const right = counted(inner)
  await right.storage.write(async (tx) => tx.put(letters, { id: 1, tries: 0, text: 'Hello' }))
  const wrong = counted(inner, '8'.repeat(64))
  await wrong.storage.write(async (tx) => {
    const letter = await tx.get(letters, 1)
    expect(letter?.text).toBe('Unreadable')
    if (letter) tx.put(letters, { ...letter, tries: 1 })
  })
  expect(await right.storage.read((tx) => tx.get(letters, 1))).toEqual({ id: 1, tries: 1, text: 'Hello' })
})
