import { expect, test } from 'vitest'
import { collection, type Row, type State, type Storage } from '../../src/storage/storage.js'
import { type Note, notes, type Question } from '../support/storage/storage-model.js'

export interface Account extends Row {
  readonly id: string
  readonly balance: number
  readonly tags?: readonly { readonly name: string }[]
}

export const accounts = collection<Account>()('accounts', {})

export interface Created {
  storage: Storage
  cleanup(): Promise<void>
}

export interface Durable extends Created {
  /** Closes the storage, and opens what it kept. */
  reopen(): Promise<Storage>
}

export type Case<C extends Created> = (made: C) => Promise<void>

/** States a fact, and shows it on a storage made for it alone. */
export type Law<C extends Created = Created> = (fact: string, body: Case<C>) => void

/** A case with a storage of its own. */
export function caseOf<C extends Created>(create: () => Promise<C>): Law<C> {
  return (fact, body) =>
    test(fact, async () => {
      const made = await create()
      try {
        await body(made)
      } finally {
        await made.cleanup()
      }
    })
}

export const put = (storage: Storage, ...rows: Note[]) =>
  storage.write(async (tx) => rows.forEach((row) => tx.put(notes, row)))
export const find = (storage: Storage, query: Partial<Question>) =>
  storage.read((tx) => tx.find(notes, { index: 'id', prefix: [], limit: 100, ...query }))
export const idsOf = async (storage: Storage, query: Partial<Question>) =>
  (await find(storage, query)).map(({ id }) => id)

export async function fill(storage: Storage): Promise<void> {
  await put(storage, { id: 'b', slug: 's' }, { id: 10, body: { z: 1, a: [null] } }, { id: 2, owner: 'o' }, { id: 'a' })
  await storage.write(async (tx) => tx.put(accounts, { id: '\u{1f600}', balance: 1 }))
  await storage.write(async (tx) => [await tx.nextId('z'), await tx.nextId('a'), await tx.nextId('z')])
}

/** Replaces the state amid writes that draw numbers, and draws on. No number may come twice. */
export async function expectNewNumbers(storage: Storage): Promise<void> {
  const drawn: number[] = []
  const draw = async () => void drawn.push(await storage.write((tx) => tx.nextId('n')))
  const state: State = { ...(await storage.export()), counters: { n: 3, other: 7 } }
  for (let round = 0; round < 3; round++)
    await Promise.all([draw(), draw(), storage.import(state, { keepsNumbers: true }), draw(), draw()])
  await draw()
  expect(new Set(drawn).size).toBe(13)
  expect(await storage.write((tx) => tx.nextId('other'))).toBe(8)
  await storage.import(state)
  expect(await storage.write((tx) => tx.nextId('n'))).toBe(4)
}
