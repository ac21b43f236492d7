import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { balanceOf, balances, post } from '../../src/money/ledger/movement.js'
import type { Reader, Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { newPayer, newSeller, newTwin } from '../support/scenes/world.js'

const PAYMENTS = 3000

/** A twin with thousands of entries, and the most rows that one of its statements' transactions reads. */
async function busyTwin() {
  const inner = memoryStorage()
  const watch = { most: 0, transactions: 0, between: async () => {} }
  const storage: Storage = {
    ...inner,
    async read(body) {
      let rows = 0
      const count = <T>(found: readonly T[]) => {
        rows += found.length
      }
      const value = await inner.read((tx) => {
        const counting: Reader = {
          get: (from, id) => tx.get(from, id),
          getMany: async (from, ids) => {
            const found = await tx.getMany(from, ids)
            count(found)
            return found
          },
          find: async (from, query) => {
            const found = await tx.find(from, query)
            count(found)
            return found
          },
        }
        return body(counting)
      })
      watch.most = Math.max(watch.most, rows)
      watch.transactions++
      await watch.between()
      return value
    },
  }
  const service = createService({ storage, sandbox: true })
  const call = caller({
    url: 'http://127.0.0.1:4242',
    fetch: (request) => service.fetch(request),
    close: () => service.close(),
  })
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 100 })
  const shop = await newTwin(call, seller.token)
  const { balances: held } = (await call('GET', `/v4/twin/${payer.hostname}`, { token: payer.token })).body
  const [dq = ''] = Object.keys(held)
  const [payerTwinId, payeeTwinId] = [await idOf(inner, payer.hostname), shop.id]
  const pay = () =>
    inner.write((tx) => post(tx, { kind: 'payment', dq, amount: 1n, payerTwinId, payeeTwinId, at: Date.now() }))
  await inner.write(async (tx) => {
    for (let n = 0; n < PAYMENTS; n++)
      await post(tx, { kind: 'payment', dq, amount: 1n, payerTwinId, payeeTwinId, at: Date.now() })
  })
  watch.most = 0
  watch.transactions = 0
  const read = (statement: string) =>
    call('GET', `/v4/twin/${payer.hostname}/${statement}`, {
      token: payer.token,
      headers: { accept: 'application/json' },
    })
  return { inner, service, watch, pay, read, dq, payerTwinId }
}

async function idOf(storage: Storage, hostname: string): Promise<number> {
  const { rows } = await storage.export()
  return Number(rows.twins?.find((row) => 'hostname' in row && row.hostname === hostname)?.id)
}

test('a binder is read a few hundred rows at a time, and has each entry once although payments go on', async () => {
  const { service, watch, pay, read } = await busyTwin()
  watch.between = async () => void (await pay())
  const { body } = await read('binder')
  // Beside them, the funding, and one payment after each of the two reads before the first batch.
  expect(body).toHaveLength(PAYMENTS + 3)
  expect(new Set(body.map(({ twistId }: { twistId: string }) => twistId)).size).toBe(body.length)
  expect(watch.transactions).toBeGreaterThan(PAYMENTS / 100)
  expect(watch.most).toBeLessThanOrEqual(350)
  watch.between = async () => {}
  await service.close()
})

test('an inventory sums a few hundred entries at a time, and is valid although payments go on', async () => {
  const { service, watch, pay, read } = await busyTwin()
  watch.between = async () => void (await pay())
  const { body } = await read('inventory')
  expect(body).toMatchObject([{ integrity: 'valid' }])
  expect(watch.most).toBeLessThanOrEqual(550)
  watch.between = async () => {}
  await service.close()
})

test('an inventory says that a balance is broken', async () => {
  const { inner, service, read, dq, payerTwinId } = await busyTwin()
  await inner.write(async (tx) => tx.put(balances, { ...(await balanceOf(tx, payerTwinId, dq)), amount: '5' }))
  expect((await read('inventory')).body).toMatchObject([{ integrity: 'broken' }])
  await service.close()
})
