import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Fault } from '../../src/index.js'
import { startHost } from '../support/browser/host.js'
import { readPage } from '../support/docs/markdown.js'
import { howMuch } from '../support/how-much.js'
import { heldBy, newAccount, newWallet } from '../support/scenes/x402.js'
import { buyerByMppx, startMppxShop } from './support/mppx.js'
import { buyerByAxios, buyerByFetch } from './support/x402-buyers.js'
import { startExpressShop, startHonoShop } from './support/x402-shops.js'

/** What unmodified shops and buyers do when a settlement is hostile: docs/guides/what-clients-do.md says it. */

const buyers = { '@x402/fetch': buyerByFetch, '@x402/axios': buyerByAxios, mppx: buyerByMppx }
const shops = { '@x402/hono': startHonoShop, '@x402/express': startExpressShop, mppx: startMppxShop }
type Pair = readonly [keyof typeof shops, keyof typeof buyers]

/** The pairs of each column of the table, which do the same. */
const columns: readonly (readonly Pair[])[] = [
  [
    ['@x402/hono', '@x402/fetch'],
    ['@x402/hono', '@x402/axios'],
    ['@x402/hono', 'mppx'],
    ['@x402/express', '@x402/fetch'],
    ['@x402/express', '@x402/axios'],
    ['@x402/express', 'mppx'],
  ],
  [
    ['mppx', '@x402/fetch'],
    ['mppx', '@x402/axios'],
  ],
  [['mppx', 'mppx']],
]

const cellsOf = (page: string) =>
  readPage(page)
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| mode'))
    .map((line) =>
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    )

const told = new Map(cellsOf('docs/guides/what-clients-do.md').map(([mode = '', ...cells]) => [mode, cells]))
const modes = cellsOf('docs/guides/break-x402.md').map(([mode = '', , , json = '']) => ({
  mode,
  fault: JSON.parse(json.slice(1, -1)) as Fault,
}))

const cases = modes.flatMap(({ mode, fault }) =>
  columns.flatMap((pairs, column) =>
    howMuch(pairs.slice(0, 1), pairs).map(([shop, buyer]) => ({ mode, fault, column, shop, buyer })),
  ),
)

beforeAll(() => {
  // mppx writes there what a shop of it could not settle.
  vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterAll(() => vi.restoreAllMocks())

test('the table has every hostile mode', () => {
  expect([...told.keys()]).toEqual(modes.map(({ mode }) => mode))
})

test.each(cases)('$mode: a shop of $shop and a buyer of $buyer', async ({ mode, fault, column, shop, buyer }) => {
  const host = await startHost()
  const running = await shops[shop]({ sandbox: host.url, payTo: newAccount().address })
  try {
    const body = fault.do.delay_ms ? { ...fault, do: { delay_ms: 1 } } : fault
    expect((await host.call('POST', '/_sandbox/faults', { body })).status).toBe(201)
    const account = await newWallet(host.call, 1)
    const buy = buyers[buyer](account)
    const attempt = async () => {
      const { status } = await buy(`${running.url}/report`)
      const paid = Math.round((1 - ((await heldBy(host.call, account.address)) ?? 0)) * 100)
      return { status, text: `${status}, paid ${paid}, ran ${running.delivered()}` }
    }
    const first = await attempt()
    const did = first.status === 200 ? first.text : `${first.text}. Again: ${(await attempt()).text}`
    expect(did).toBe(told.get(mode)?.[column])
  } finally {
    await running.close()
    await host.close()
  }
})
