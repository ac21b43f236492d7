import { afterEach, expect, test, vi } from 'vitest'
import { failuresIn } from '../../sandbox/workbench/failures.js'
import { quantities } from '../../sandbox/workbench/state.js'
import { storiesOf } from '../../sandbox/workbench/stories.js'
import { createService, type Service } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { callItem, newPaidShop, offerIn, payHeader, postCall } from '../support/scenes/paid-calls.js'
import { type OnSale, type Paying, payings, sales } from '../support/scenes/sales.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { newAccount, newWallet } from '../support/scenes/x402.js'

/** How the workbench tells of calls that pay for themselves. */

// The workbench knows its page when it is loaded.
vi.hoisted(() => {
  vi.stubGlobal('document', { getElementById: () => null, baseURI: 'http://127.0.0.1:4242/' })
  vi.stubGlobal('location', { hash: '' })
  vi.stubGlobal('addEventListener', () => {})
})

const upstream = useUpstream()
let service: Service
afterEach(() => service.close())

function started(): Call {
  service = createService({ sandbox: true })
  return caller({ url: service.baseUrl, fetch: service.fetch })
}

/** The steps since the last look, oldest first, and the failures. */
async function toldBy(call: Call) {
  const { rows } = (await call('GET', '/_sandbox/rows/digital_quantities?limit=20')).body
  quantities.value = new Map(rows.map(({ id: dq, ...row }: any) => [dq, { dq, ...row }]))
  const { requests } = (await call('GET', '/_sandbox/requests?limit=100')).body
  const sold = requests.filter(({ operation_id }: any) => /^call/.test(operation_id))
  const steps = storiesOf(sold).flatMap(({ steps }) => steps.map(({ text }) => text))
  return { steps, failures: failuresIn(sold).map(({ code }) => code), isRefused: storiesOf(sold)[0]?.isRefused }
}

const each = Object.entries(payings).map(([dialect, paying]) => [dialect, paying] as const)

async function buyOnce(call: Call, sale: OnSale, paying: Paying): Promise<void> {
  const account = await newWallet(call, 1)
  expect((await sale.ask(await paying.sign(account, await sale.ask()))).status).toBe(200)
}

test.each(each)('an offer is told as an offer, and what was paid by %s with its price', async (dialect, paying) => {
  const call = started()
  for (const open of Object.values(sales)) await buyOnce(call, await open(call, `${upstream.url}/ok`), paying)
  const by = dialect.replace(/ version.*/, '')
  const host = new URL(upstream.url).host
  expect(await toldBy(call)).toEqual({
    steps: ['item 1', host].flatMap((what) => [`asked 0.01 USDC for ${what}`, `paid 0.01 USDC for ${what} by ${by}`]),
    failures: [],
    isRefused: false,
  })
})

test('a refused payment is told with its reason, and a free call as a call', async () => {
  const call = started()
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
  await callItem(call, item, await payHeader(newAccount(), offerIn(await callItem(call, item))))
  const free = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok`, price: 0 })
  await postCall(call, free.item)
  expect(await toldBy(call)).toEqual({
    steps: [
      'asked 0.01 USDC for item 1',
      'tried to pay for item 1: invalid_exact_evm_insufficient_balance',
      'called item 2',
    ],
    failures: ['payment_required'],
    isRefused: true,
  })
})
