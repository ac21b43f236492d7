import { expect } from 'vitest'
import { memoryStorage } from '../../../../adapters/storage/memory.js'
import { rates } from '../../../../src/jobs/rates/rate.js'
import type { Storage } from '../../../../src/storage/storage.js'
import { BINDER_HEADER, binderCsv, binderHash, CSV } from '../../../support/scenes/binders.js'
import type { Scenes, Shop } from './scene.js'

const snapshotOf = async ({ call }: Shop) => (await call('GET', '/_sandbox/snapshot')).body

const emptyTwin = async ({ call, reader, dq }: Shop): Promise<string> =>
  (await call('POST', '/v4/twin', { token: reader.token, body: { dq } })).body.hostname

/** A body that comes when the scene says so. */
function slowBody(start: string) {
  let end = () => {}
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(start))
      end = () => controller.close()
    },
  })
  return { stream, end: () => end() }
}

/** An import into a new twin whose file is still on its way. */
async function importing(shop: Shop) {
  const hostname = await emptyTwin(shop)
  const path = `/_sandbox/twins/${hostname}/binder`
  const { stream, end } = slowBody(`${BINDER_HEADER}\n`)
  const first = shop.ask('POST', path, { raw: stream, headers: CSV })
  const second = () => shop.ask('POST', path, { raw: `${BINDER_HEADER}\nwrong`, headers: CSV })
  await expect.poll(async () => (await second()).answer.status, { interval: 2 }).toBe(409)
  return { hostname, path, first, end }
}

/** Replaces more than a sandbox remembers. */
async function replaceMuch(storage: Storage): Promise<void> {
  const row = { id: 'much:0', times: [], until: Number.MAX_SAFE_INTEGER, text: 'x'.repeat(4 << 20) }
  for (let n = 0; n < 20; n++) await storage.write(async (tx) => tx.put(rates, row))
}

/** The controls of the sandbox. */
export const controlScenes = {
  already_exists: {
    async provoke({ call, ask }) {
      const account = { name: 'Fixed', client_id: `mid_${'1'.repeat(32)}`, client_secret: `mc_${'2'.repeat(32)}` }
      const body = { accounts: [account] }
      const by = (await call('POST', '/_sandbox/seed', { body })).headers.get('x-request-id')
      return {
        request: ask('POST', '/_sandbox/seed', { body }),
        facts: { seed: ['1 accounts'], planted_by: by },
        says: ['1 accounts', `The same seed was planted by ${by}`],
      }
    },
  },
  'already_exists (a snapshot)': {
    async provoke({ call, ask }) {
      await call('POST', '/_sandbox/snapshots', { body: { name: 'before' } })
      return {
        request: ask('POST', '/_sandbox/snapshots', { body: { name: 'before' } }),
        facts: { name: 'before' },
        says: ['A snapshot with the name `before`'],
      }
    },
  },
  snapshot_invalid: {
    async provoke(shop) {
      const { counters } = await snapshotOf(shop)
      return {
        request: shop.ask('PUT', '/_sandbox/snapshot', { body: { schema: 0, counters, rows: {} } }),
        facts: { fields: ['schema', 'counters', 'rows'], missing: [], said: expect.stringContaining('schema') },
        says: ['GET /_sandbox/snapshot', '"schema" must be a whole number'],
      }
    },
  },
  snapshot_newer: {
    async provoke(shop) {
      const state = await snapshotOf(shop)
      return {
        request: shop.ask('PUT', '/_sandbox/snapshot', { body: { ...state, schema: 99 } }),
        facts: { schema: 99, known: state.schema },
        says: ['schema 99', `This farthing knows schema ${state.schema}`, 'Update farthing'],
        fix: 'none',
      }
    },
  },
  snapshot_refused: {
    async provoke(shop) {
      const state = await snapshotOf(shop)
      const balances = state.rows.balances.map((row: object) => ({ ...row, amount: '1' }))
      return {
        request: shop.ask('PUT', '/_sandbox/snapshot', { body: { ...state, rows: { ...state.rows, balances } } }),
        facts: { collection: 'balances', id: expect.anything() },
        says: ['of `balances` contradicts', 'The state is as it was'],
      }
    },
  },
  rewind_refused: {
    async provoke({ call, ask, disk, article, reader }) {
      const paid = await call('POST', `/v4/payment/${article.hash}`, { token: reader.token })
      const to = paid.headers.get('x-request-id')
      await replaceMuch(disk.storage)
      return {
        request: ask('POST', '/_sandbox/rewind', { body: { to } }),
        facts: { to, target: { operation_id: 'createPayment' } },
        says: [`${to} was createPayment at 2031-05-01 12:00:00 UTC`, 'no longer has the state', 'named snapshot'],
        fix: 'none',
      }
    },
  },
  'rewind_refused (shared)': {
    get options() {
      return { storage: { ...memoryStorage(), isShared: true } }
    },
    async provoke({ call, ask }) {
      expect((await call('POST', '/_sandbox/snapshots', { body: { name: 'before' } })).status).toBe(201)
      return {
        request: ask('POST', '/_sandbox/rewind', { body: { to: 'before' } }),
        facts: { to: 'before', reason: expect.stringContaining('Other processes') },
        says: ['Other processes use this storage'],
      }
    },
  },
  sandbox_full: {
    async provoke({ call, ask }) {
      for (let n = 0; n < 100; n++) await call('POST', '/_sandbox/snapshots', { body: { name: `s${n}` } })
      return {
        request: ask('POST', '/_sandbox/snapshots', { body: { name: 'one-more' } }),
        facts: { operation_id: 'saveNamedState', name: 'one-more', most: 100, oldest: 's0' },
        says: ['100 snapshots', 'The oldest is `s0`'],
      }
    },
  },
  binder_invalid: {
    async provoke(shop) {
      const hostname = await emptyTwin(shop)
      return {
        request: shop.ask('POST', `/_sandbox/twins/${hostname}/binder`, {
          raw: binderCsv([`now,receive,${binderHash('file', 1)},,,${binderHash('twin', 1)},`]),
          headers: CSV,
        }),
        facts: { line: 2, column: 'timestamp', given: '"now"' },
        says: ['Line 2, column `timestamp`, must be', 'It was "now"', 'Nothing was imported'],
        fix: 'none',
      }
    },
  },
  import_in_progress: {
    async provoke(shop) {
      const { hostname, path, first, end } = await importing(shop)
      return {
        request: shop.ask('POST', path, { raw: binderCsv([]), headers: CSV }),
        facts: { hostname, state: 'checking' },
        says: [`An import into ${hostname}`],
        meanwhile: async () => {
          end()
          await first
        },
      }
    },
  },
  import_ended: {
    async provoke(shop) {
      const { hostname, first, end } = await importing(shop)
      const state = await snapshotOf(shop)
      await shop.call('PUT', '/_sandbox/snapshot', { body: state })
      end()
      return {
        request: first.then(({ answer }) => ({ answer, sent: { raw: binderCsv([]), headers: CSV } })),
        facts: { hostname, state: null },
        says: [`No import into ${hostname} was under way any more`],
      }
    },
  },
} satisfies Scenes
