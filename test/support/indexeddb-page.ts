/** Runs in pages and workers of a browser: the storage law on its IndexedDB, and what several tabs do to one database. */
import { deleteDB } from 'idb'
import { indexedDbStorage } from '../../adapters/storage/indexeddb.js'
import { type AnyCollection, collection, type Row, type Storage } from '../../src/storage/storage.js'
import { type Durable, durableStorageContract, storageContract } from '../storage.contract.js'
import { cases } from './vitest-in-page.js'

interface Voucher extends Row {
  readonly id: number
  /** Who spent it. */
  readonly spent: string | false
}

interface Balance extends Row {
  readonly id: string
  readonly value: number
}

interface Blob extends Row {
  readonly id: number
  readonly text: string
}

const vouchers = collection<Voucher>()('vouchers', {})
const balances = collection<Balance>()('balances', {})
const blobs = collection<Blob>()('blobs', { byText: { fields: ['text'] } })
const ISSUER = 'issuer'

const create = async (collections: readonly AnyCollection[]): Promise<Durable> => {
  const options = { name: crypto.randomUUID(), collections }
  let storage = indexedDbStorage(options)
  return {
    storage,
    async reopen() {
      await storage.close()
      storage = indexedDbStorage(options)
      return storage
    },
    async cleanup() {
      await storage.close()
      await deleteDB(options.name)
    },
  }
}

storageContract('IndexedDB', create)
durableStorageContract('IndexedDB', create)

let opened: Storage | undefined
const storage = () => (opened ??= indexedDbStorage({ collections: [vouchers, balances, blobs] }))

export interface Spent {
  readonly won: number[]
  readonly lost: number
}

/** A random text of that many bytes, which no compression makes smaller. */
function noise(size: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(Math.min(size, 65_536) / 2))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const putBlobs = (from: number, count: number, size: number) =>
  storage().write(async (tx) => {
    for (let id = from; id < from + count; id++) tx.put(blobs, { id, text: noise(size) })
    await tx.nextId('blobs')
  })

const page = {
  titles: cases.map(({ title }) => title),

  /** Gives what a failed test says, or nothing. */
  async runCase(at: number): Promise<string | undefined> {
    try {
      await cases[at]?.run()
      return undefined
    } catch (error) {
      return (error as Error).stack ?? String(error)
    }
  },

  issue: (count: number) =>
    storage().write(async (tx) => {
      for (let id = 0; id < count; id++) tx.put(vouchers, { id, spent: false })
      tx.put(balances, { id: ISSUER, value: count })
    }),

  /** Tries to spend each voucher once, in this tab's own order, many at a time. */
  async spendAll(who: string, count: number): Promise<Spent> {
    const order = Array.from({ length: count }, (_, id) => ({ id, at: Math.random() })).sort((a, b) => a.at - b.at)
    const spend = (id: number) =>
      storage().write(async (tx) => {
        const voucher = await tx.get(vouchers, id)
        if (!voucher || voucher.spent) return false
        // A body may await what is no request of the database.
        await crypto.subtle.digest('SHA-256', new Uint8Array(32))
        const issuer = (await tx.get(balances, ISSUER)) as Balance
        const own = (await tx.get(balances, who)) ?? { id: who, value: 0 }
        tx.put(vouchers, { id, spent: who })
        tx.put(balances, { ...issuer, value: issuer.value - 1 })
        tx.put(balances, { ...own, value: own.value + 1 })
        return true
      })
    const results = await Promise.all(order.map(async ({ id }) => ({ id, isWon: await spend(id) })))
    const won = results.filter(({ isWon }) => isWon).map(({ id }) => id)
    return { won, lost: count - won.length }
  },

  /** The same in a worker of this page. */
  spendAllInWorker(who: string, count: number): Promise<Spent> {
    const worker = new Worker('/script.js', { type: 'module' })
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage({ who, count })
    })
  },

  putBlobs,

  /** What became of a write: the name of its error and its words, or nothing. */
  tryBlobs: (from: number, count: number, size: number) =>
    putBlobs(from, count, size).then(
      () => undefined,
      ({ name, message }: Error) => ({ name, message }),
    ),

  countBlobs: () =>
    storage().read(async (tx) => (await tx.find(blobs, { index: 'id', prefix: [], limit: 1e6 })).length),

  /** Begins a write that never ends; resolves once its body runs. */
  holdWrite: () =>
    new Promise<void>((resolve) => {
      void storage().write(async (tx) => {
        tx.put(blobs, { id: -1, text: '' })
        await tx.get(blobs, 0)
        resolve()
        await new Promise(() => {})
      })
    }),

  /** Begins a write of many rows; resolves when its body is done and the rows are about to land. */
  startLanding: (count: number, size: number) =>
    new Promise<void>((resolve) => {
      const rows = Array.from({ length: count }, (_, id) => ({ id, text: noise(size) }))
      void storage().write(async (tx) => {
        for (const row of rows) tx.put(blobs, row)
        setTimeout(resolve)
      })
    }),

  clear: () => storage().import({ counters: {}, rows: {} }),

  exportState: () => storage().export(),
}

export type IndexedDbPage = typeof page

Object.assign(globalThis, { page })

if (!('document' in globalThis))
  globalThis.onmessage = async ({ data: { who, count } }) => globalThis.postMessage(await page.spendAll(who, count))
