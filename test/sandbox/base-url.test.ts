import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { readSettings } from '../../sandbox/config.js'
import { startSandbox } from '../../sandbox/sandbox.js'
import { demo } from '../../sandbox/seed/demo.js'
import { createService, type State } from '../../src/index.js'

const FIRST = 'http://127.0.0.1:4242'
const SECOND = 'http://127.0.0.1:4243'

async function start({ baseUrl, state }: { baseUrl: string; state?: State }) {
  const storage = memoryStorage()
  if (state) await storage.import(state)
  const service = createService({ sandbox: true, seed: demo.seed, baseUrl, storage })
  onTestFinished(() => service.close())
  return service
}

type Started = Awaited<ReturnType<typeof start>>

/** Where each item is fulfilled, and where the paywall finds it. */
async function endpoints({ sandbox }: Pick<Started, 'sandbox'>): Promise<string[]> {
  const { rows } = await sandbox.rows('catalog_items')
  return rows.map(({ external_endpoint, called_at, idle_at }) => {
    expect(called_at ?? idle_at).toBe(external_endpoint)
    return String(external_endpoint)
  })
}

test('a data file that was made on one port sells on another what the sandbox itself delivers', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'farthing-base-url-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const flags = { port: '0', data: join(folder, 'data.json'), seed: 'demo' }
  const settings = await readSettings({ flags, environment: {}, directory: folder, apart: true })
  const first = await startSandbox(settings, { warn: () => {} })
  const { port } = new URL(first.url)
  await first.close()
  // The next one gets another port while this one is taken.
  const taken = createServer().listen(Number(port), '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  onTestFinished(() => void taken.close())
  const second = await startSandbox(settings, { warn: () => {} })
  onTestFinished(() => second.close())
  expect(second.url).not.toBe(first.url)
  const { service } = second
  const { headers } = await service.sandbox.signIn(demo.payer.email)
  const [item] = (await service.sandbox.rows('catalog_items')).rows
  const bought = await fetch(`${second.url}/v4/catalog/items/${item?.id}/purchases`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ arguments: { words: 'bronze wren' } }),
  })
  expect([bought.status, await bought.text()]).toEqual([201, expect.stringContaining('little bronze coin')])
})

const ways: readonly (readonly [string, (state: State) => Promise<Started> | Started])[] = [
  ['opened at another base URL', (state) => start({ baseUrl: SECOND, state })],
  [
    'restored at another base URL',
    async (state) => {
      const service = await start({ baseUrl: SECOND })
      await service.sandbox.restore(state)
      return service
    },
  ],
]

test.each(ways)('a state %s has its own items there, and those of others where they were', async (_, open) => {
  const first = await start({ baseUrl: FIRST })
  const others = [`${FIRST}0/v4/dq`, 'https://other.example.test/shop/archive']
  const items = [`${FIRST}/v4/dq`, ...others].map((external_endpoint, n) => ({
    ...demo.archive,
    ...{ name: `Item ${n}`, descriptor: `ITEM.${n}`, external_endpoint, active: n < 2 },
  }))
  await first.sandbox.seed({ items })
  const before = await endpoints(first)
  const second = await open(await first.sandbox.snapshot())
  const moved = before.map((each) => (others.includes(each) ? each : each.replace(FIRST, SECOND)))
  expect(moved.filter((each) => each.startsWith(`${SECOND}/`))).toEqual([`${SECOND}/v4/dq`, `${SECOND}/shop/archive`])
  expect(await endpoints(second)).toEqual(moved)
  expect(await endpoints(await start({ baseUrl: FIRST, state: await second.sandbox.snapshot() }))).toEqual(before)
})

test('a fork over HTTP sells what the sandbox delivers, also after its reset', async () => {
  const service = await start({ baseUrl: FIRST })
  const made = await service.fetch('/_sandbox/forks', { method: 'POST' })
  const { url } = await made.json()
  const of = async () => (await (await service.fetch(`${url}/_sandbox/rows/catalog_items`)).json()).rows
  for (const control of ['reset', undefined]) {
    expect(await of()).toMatchObject([{ external_endpoint: `${FIRST}/shop/archive` }])
    if (control) await service.fetch(`${url}/_sandbox/${control}`, { method: 'POST' })
  }
})
