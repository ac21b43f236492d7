import { describe } from 'vitest'
import type { AnyCollection } from '../src/storage/storage.js'
import { accounts, type Created, caseOf, type Durable } from './storage/cases.js'
import { durableCases } from './storage/durability.js'
import { readingCases } from './storage/reading.js'
import { serializabilityCases } from './storage/serializability.js'
import { closingCases, immutabilityCases, stateCases } from './storage/states.js'
import { transactionCases, uniqueCases } from './storage/transactions.js'
import { notes } from './support/storage/storage-model.js'

export type { Created, Durable }

/** Given to what creates a storage: some must know every collection beforehand. */
const collections: readonly AnyCollection[] = [notes, accounts]

type Create<C extends Created> = (collections: readonly AnyCollection[]) => Promise<C>

/** Holds a storage to the law in `src/storage/storage.ts`. Every case runs on every storage. */
export function storageContract(name: string, createFor: Create<Created>): void {
  const create = () => createFor(collections)
  const law = caseOf(create)
  describe(`${name} finds rows`, () => readingCases(law))
  describe(`${name} runs transactions`, () => transactionCases(law, create))
  describe(`${name} keeps unique indexes`, () => uniqueCases(law))
  describe(`${name} serializes`, () => serializabilityCases(law))
  describe(`${name} never lets rows change`, () => immutabilityCases(law))
  describe(`${name} exports and imports`, () => stateCases(law))
  describe(`${name} closes`, () => closingCases(law))
}

/** What a storage that outlives its process promises besides. */
export function durableStorageContract(name: string, createFor: Create<Durable>): void {
  const create = () => createFor(collections)
  const law = caseOf(create)
  describe(`${name} survives closing`, () => durableCases(law, create))
}
