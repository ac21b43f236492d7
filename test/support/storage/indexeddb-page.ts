/** Runs in pages and workers of a browser: the storage law on its IndexedDB, and what several tabs do to one database. */
import { indexedDbStorage } from '../../../adapters/storage/indexeddb.js'
import { collection, type Row, type Storage } from '../../../src/storage/storage.js'
import { durableStorageContract, storageContract } from '../../storage.contract.js'
import { cases } from '../browser/vitest-in-page.js'
import { createIndexedDb } from './indexeddb-durable.js'

interface Voucher extends Row {
  readonly id: number
  /** Who spent it. */
  readonly spent: string | false
}

interface Balance extends Row {
  readonly id: string
  readonly value: number
}

interface BlobRow extends Row {
  readonly id: number
  readonly tag: string
  readonly text: string
}

const vouchers = collection<Voucher>()('vouchers', {})
const balances = collection<Balance>()('balances', {})
const blobs = collection<BlobRow>()('blobs', { byTag: { fields: ['tag'] } })
const ISSUER = 'issuer'
/** The lock that spenders wait for. */
const START = 'start'

storageContract('IndexedDB', createIndexedDb)
durableStorageContract('IndexedDB', createIndexedDb)

let opened: Storage | undefined
const storage = () => (opened ??= indexedDbStorage({ collections: [vouchers, balances, blobs] }))

export interface Spending {
  readonly who: string
  readonly count: number
}

export interface Spent {
  readonly won: number[]
  readonly lost: number
}

const spend = (id: number, who: string) =>
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

/** Half of it is as many bytes that no compression makes smaller. */
const NOISE = Array.from(crypto.getRandomValues(new Uint8Array(32_000)), (byte) =>
  byte.toString(16).padStart(2, '0'),
).join('')

const blob = (id: number, size: number): BlobRow => ({ id, tag: 'blob', text: NOISE.slice(0, size) })

const putBlobs = (from: number, count: number, size: number) =>
  storage().write(async (tx) => {
    for (let id = from; id < from + count; id++) tx.put(blobs, blob(id, size))
    await tx.nextId('blobs')
  })

async function land(count: number, onBodyDone: () => void): Promise<void> {
  const rows = Array.from({ length: count }, (_, id) => blob(id, 8000))
  await storage().write(async (tx) => {
    for (const row of rows) tx.put(blobs, row)
    onBodyDone()
  })
}

const page = {
  titles: cases.map(({ title }) => title),

  /** Rejects where the test fails. */
  runCase: (at: number) => cases[at]?.run() ?? Promise.reject(new Error(`there is no test ${at}`)),

  issue: (count: number) =>
    storage().write(async (tx) => {
      for (let id = 0; id < count; id++) tx.put(vouchers, { id, spent: false })
      tx.put(balances, { id: ISSUER, value: count })
    }),

  /** Holds all spenders back until there are that many; resolves once it does. */
  holdBack: (spenders: number) =>
    new Promise<void>((resolve) => {
      void navigator.locks.request(START, async () => {
        resolve()
        const waiting = async () => (await navigator.locks.query()).pending?.filter(({ name }) => name === START)
        while (((await waiting())?.length ?? 0) < spenders) await new Promise((resolve) => setTimeout(resolve, 5))
      })
    }),

  /** Tries to spend each voucher once: in an order of its own, four at a time. */
  async spendAll({ who, count }: Spending): Promise<Spent> {
    await navigator.locks.request(START, { mode: 'shared' }, () => {})
    const order = Array.from({ length: count }, (_, id) => ({ id, at: Math.random() })).sort((a, b) => a.at - b.at)
    const won: number[] = []
    const spendNext = async (): Promise<void> => {
      const next = order.pop()
      if (!next) return
      if (await spend(next.id, who)) won.push(next.id)
      return spendNext()
    }
    await Promise.all([spendNext(), spendNext(), spendNext(), spendNext()])
    return { won, lost: count - won.length }
  },

  /** The same in a worker of this page. */
  spendAllInWorker(spending: Spending): Promise<Spent> {
    const worker = new Worker('/script.js', { type: 'module' })
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      worker.postMessage(spending)
    })
  },

  putBlobs,

  /** What became of a write: the name of its error and its words, or nothing. */
  tryBlobs: (from: number, count: number, size: number) =>
    putBlobs(from, count, size).then(
      () => undefined,
      ({ name, message }: Error) => ({ name, message }),
    ),

  countBlobs: (index: 'id' | 'byTag' = 'id') =>
    storage().read(async (tx) => (await tx.find(blobs, { index, prefix: [], limit: 1e6 })).length),

  /** Has this tab run code that knows no index yet. */
  beOlder() {
    opened = indexedDbStorage({ collections: [collection<BlobRow>()('blobs', {})] })
  },

  /** Begins a write that never ends; resolves once its body runs. */
  holdWrite: () =>
    new Promise<void>((resolve) => {
      void storage().write(async (tx) => {
        tx.put(blobs, blob(-1, 10))
        await tx.get(blobs, 0)
        resolve()
        await new Promise(() => {})
      })
    }),

  /** Begins to land that many rows; resolves when the body is done. */
  startLanding: (count: number) => new Promise<void>((resolve) => void land(count, () => setTimeout(resolve))),

  /** Lands as many, and returns how long that took after the body, in ms. */
  async timeLanding(count: number): Promise<number> {
    let began = 0
    await land(count, () => (began = performance.now()))
    return performance.now() - began
  },

  clear: () => storage().import({ counters: {}, rows: {} }),

  exportState: () => storage().export(),
}

export type IndexedDbPage = typeof page

Object.assign(globalThis, { page })

if (!('document' in globalThis))
  globalThis.onmessage = async ({ data }) => globalThis.postMessage(await page.spendAll(data))
