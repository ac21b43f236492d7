import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { hastened, hostileModes, tableCells } from '../support/docs/hostile-modes.js'
import { readPage } from '../support/docs/markdown.js'
import { howMuch } from '../support/how-much.js'
import { newPaidShop } from '../support/scenes/paid-calls.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { heldBy, newAccount, newWallet } from '../support/scenes/x402.js'
import { buyerByMppx, startMppxShop } from './support/mppx.js'
import { type Buy, buyerByAxios, buyerByFetch } from './support/x402-buyers.js'
import { startExpressShop, startHonoShop } from './support/x402-shops.js'

/** What unmodified shops and buyers do when the other side is hostile: docs/guides/what-clients-do.md says it. */

const buyers = { '@x402/fetch': buyerByFetch, '@x402/axios': buyerByAxios, mppx: buyerByMppx }
const shops = { '@x402/hono': startHonoShop, '@x402/express': startExpressShop, mppx: startMppxShop }
type Buyer = keyof typeof buyers
type Pair = readonly [keyof typeof shops, Buyer]

/** The pairs of each column of the first table, which do the same. */
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

/** The same of the second table. */
const buyerColumns: readonly (readonly Buyer[])[] = [['@x402/fetch', '@x402/axios'], ['mppx']]

const told = new Map(tableCells('docs/guides/what-clients-do.md').map(([mode = '', ...cells]) => [mode, cells]))

const upstream = useUpstream()

beforeAll(() => {
  // mppx writes there what a shop of it could not settle.
  vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterAll(() => vi.restoreAllMocks())

test('the tables have every hostile mode', () => {
  const [first, second] = [false, true].map((shop) => hostileModes.filter(({ isShop }) => isShop === shop))
  expect([...told.keys()]).toEqual([...(first ?? []), ...(second ?? [])].map(({ mode }) => mode))
})

test('the page names the versions that are tested', () => {
  const named = readPage('docs/guides/what-clients-do.md').matchAll(/`([@\w/]+)` (\d+\.\d+\.\d+)/g)
  const installed = [...Object.keys(buyers), ...Object.keys(shops)].map((name) => {
    const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'))
    return `${name} ${version}`
  })
  expect([...named].map(([, name, version]) => `${name} ${version}`).sort()).toEqual([...new Set(installed)].sort())
})

/** What a buyer with 1 USDC sees, in the words of the tables. It asks again if it does not get what it wants. */
async function whatHappens({ call }: Host, bought: { buy: Buy; url: string; ran(): number; payer: string }) {
  const attempt = async () => {
    const status = await bought.buy(bought.url).then(
      ({ status }) => String(status),
      () => 'error',
    )
    const paid = Math.round((1 - ((await heldBy(call, bought.payer)) ?? 0)) * 1000) / 10
    return { status, text: `${status}, paid ${paid}, ran ${bought.ran()}` }
  }
  const first = await attempt()
  return first.status === '200' ? first.text : `${first.text}. Again: ${(await attempt()).text}`
}

const facilitatorCases = hostileModes
  .filter(({ isShop }) => !isShop)
  .flatMap(({ mode, fault }) =>
    columns.flatMap((pairs, column) =>
      howMuch(pairs.slice(0, 1), pairs).map(([shop, buyer]) => ({ mode, fault, column, shop, buyer })),
    ),
  )

test.each(facilitatorCases)('$mode: a shop of $shop and a buyer of $buyer', async (each) => {
  const host = await startHost()
  const shop = await shops[each.shop]({ sandbox: host.url, payTo: newAccount().address })
  try {
    expect((await host.call('POST', '/_sandbox/faults', { body: hastened(each.fault) })).status).toBe(201)
    const account = await newWallet(host.call, 1)
    const [buy, ran, url] = [buyers[each.buyer](account), () => shop.delivered(), `${shop.url}/report`]
    expect(await whatHappens(host, { buy, url, ran, payer: account.address })).toBe(told.get(each.mode)?.[each.column])
  } finally {
    await shop.close()
    await host.close()
  }
})

const shopCases = hostileModes
  .filter(({ isShop }) => isShop)
  .flatMap(({ mode, fault }) =>
    buyerColumns.flatMap((names, column) =>
      howMuch(names.slice(0, 1), names).map((buyer) => ({ mode, fault, column, buyer })),
    ),
  )

test.each(shopCases)("$mode: the sandbox's own shop and a buyer of $buyer", async ({ mode, fault, column, buyer }) => {
  const host = await startHost()
  try {
    const { item } = await newPaidShop(host.call, { external_endpoint: `${upstream.url}/ok` })
    expect((await host.call('POST', '/_sandbox/faults', { body: hastened(fault) })).status).toBe(201)
    const account = await newWallet(host.call, 1)
    const before = upstream.requests.length
    const url = `${host.url}/v4/catalog/items/${item.id}/call?city=Oslo`
    const [buy, ran] = [buyers[buyer](account), () => upstream.requests.length - before]
    expect(await whatHappens(host, { buy, url, ran, payer: account.address })).toBe(told.get(mode)?.[column])
  } finally {
    await host.close()
  }
})

test('an expensive offer is signed up to the limit of the buyer', async () => {
  const host = await startHost()
  try {
    const { item } = await newPaidShop(host.call, { external_endpoint: `${upstream.url}/ok` })
    const fault = hostileModes.find(({ fault }) => fault.do.x402 === 'expensive_offer')?.fault ?? {}
    await host.call('POST', '/_sandbox/faults', { body: fault })
    const account = await newWallet(host.call, 1)
    const url = `${host.url}/v4/catalog/items/${item.id}/call?city=Oslo`
    const { receipt } = await buyerByFetch(account)(url)
    expect(receipt?.errorReason).toBe('invalid_exact_evm_payload_authorization_value_mismatch')
    const careful = buyerByFetch(account, { spendControls: { maxAmountPerPayment: '$0.10' } })
    await expect(careful(url)).rejects.toThrow(/payment/i)
  } finally {
    await host.close()
  }
})
