import { expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { storageOver } from '../../src/storage/service-storage.js'
import { Transaction } from '../../src/storage/transaction.js'
import { caller } from '../support/api.js'
import { mailedCode, verify } from '../support/scenes/sign-in.js'

/** A guest who makes far more within one session than anybody needs, and then signs in. */

const MADE = 3000
const MOST_MOVED = 1000

test('a sign-in moves a limited number of carts in its transaction, the newest ones', async () => {
  const inner = memoryStorage()
  const written: Record<string, number> = {}
  const storage = storageOver(inner, {
    write: (body) =>
      inner.write(async (tx) => {
        const own = Transaction.over(tx)
        const value = await body(own)
        for (const { collection, rows } of own.changes())
          written[collection.name] = (written[collection.name] ?? 0) + rows.size
        return value
      }),
  })
  const service = createService({ sandbox: true, storage })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const first = await call('POST', '/v4/carts')
  const session = first.headers.get('x-session-id') as string
  const state = await storage.export()
  const [cart] = state.rows.carts ?? []
  const copies = Array.from({ length: MADE }, (_, n) => ({ ...cart, id: first.body.id + n + 1 }))
  const counters = { ...state.counters, carts: first.body.id + MADE }
  await storage.import({ ...state, counters, rows: { ...state.rows, carts: [cart, ...copies] as never } })
  const email = 'ada@example.test'
  await call('POST', '/v4/session/code', { session, body: { email } })
  const code = await mailedCode(call, email)
  for (const name of Object.keys(written)) delete written[name]
  const signedIn = await verify(call, session, email, code)
  expect(signedIn.status).toBe(200)
  expect(written.carts).toBe(MOST_MOVED)
  const read = async (id: number) =>
    (await call('GET', `/v4/carts/${id}`, { session: signedIn.body.session_id })).status
  expect([await read(first.body.id + MADE), await read(first.body.id + 1)]).toEqual([200, 404])
  expect(Math.max(...Object.values(written))).toBeLessThanOrEqual(MOST_MOVED)
})
