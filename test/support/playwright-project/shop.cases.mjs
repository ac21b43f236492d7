import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect } from '@playwright/test'
import { client } from 'farthing/client'
import { farthingTest } from 'farthing/playwright'

const hash = '00000000-0000-4000-8000-0000000000a1'

const test = farthingTest({
  seed: {
    accounts: [{ name: 'The Daily Farthing' }],
    users: [
      { email: 'reader@example.test', balance: 1 },
      { email: 'poor@example.test', balance: 0.1 },
    ],
    commodities: [{ account: 'The Daily Farthing', descriptor: 'NEWS.ARTICLE', cost: 0.25, hash }],
  },
}).extend({
  // An app of another origin, which frames the service. It starts once, before the first test, and keeps its token.
  shop: [
    async ({ farthing }, use) => {
      const { FARTHING_URL, FARTHING_CLIENT_ID, FARTHING_CLIENT_SECRET, FARTHING_PUBLIC_SECRET } = farthing.env
      const seller = client(FARTHING_URL).as({ client_id: FARTHING_CLIENT_ID, client_secret: FARTHING_CLIENT_SECRET })
      await seller.commodities.list()
      const page = `<!doctype html><title>Shop</title><link rel="icon" href="data:,"><div id="pay"></div>
        <script type="module" crossorigin="anonymous" src="${FARTHING_URL}/micropay.js"></script>
        <script type="module">
          loadMicroPayments('${FARTHING_PUBLIC_SECRET}').elements().create('payment', { hash: '${hash}' }).mount('#pay')
          document.addEventListener('payment', ({ detail }) => document.body.append('Paid with ' + detail.nonce))
        </script>`
      const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(page))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      await use({ url: `http://localhost:${server.address().port}/`, seller })
      server.close()
    },
    { scope: 'worker' },
  ],
})

test('a reader signs in and pays in the frame, and has what the seed says', async ({
  page,
  client,
  seeded,
  shop,
  codeFor,
  sandbox,
}) => {
  await page.goto(shop.url)
  const frame = page.frameLocator('#pay iframe')
  const press = (label) => frame.getByRole('button', { name: label }).click()
  await press(/0\.25/)
  await frame.getByRole('textbox', { name: 'Email' }).fill('reader@example.test')
  await press('Continue')
  await frame.getByRole('textbox', { name: 'Code' }).fill(await codeFor('reader@example.test'))
  await press('Verify')
  await press(/^Pay/)
  await page.getByText('Paid with').waitFor()

  const [payment, ...more] = (await shop.seller.payments.list()).payments
  expect(payment.amount).toBe(0.25)
  expect(more).toEqual([])
  const { twins } = await client.as(seeded.users[0]).twins.list()
  expect(Object.values(twins[0].balances)).toEqual([0.75])
  expect((await sandbox.requests.list({ operation_id: 'createPayment' })).requests).toHaveLength(1)
})

test('the next reader has what the seed says, and no payment of the first', async ({
  client,
  seeded,
  shop,
  sandbox,
}) => {
  expect((await shop.seller.payments.list()).payments).toEqual([])
  const { twins } = await client.as(seeded.users[0]).twins.list()
  expect(Object.values(twins[0].balances)).toEqual([1])
  expect((await sandbox.requests.list({ operation_id: 'createPayment' })).requests).toEqual([])
})

test('rehearses what calls the address of the worker', async ({ rehearse, farthing, seeded, sandbox }) => {
  const buy = (options) => async () => {
    const reader = client(farthing.url).as(seeded.users[0])
    const { cost } = await reader.commodities.read(hash)
    await reader.payments.create(hash, { cost }, options)
  }
  const { runs } = await rehearse(buy({}), { slowMs: 20, runs: 4 })
  expect(runs).toBe(4)
  await expect(rehearse(buy({ retries: 0 }), { slowMs: 20, runs: 4 })).rejects.toThrow('paid and not delivered')
  expect((await sandbox.rows('payments')).rows).toEqual([])
})

test('fails after a payment was refused', async ({ client, seeded }) => {
  const { ok } = await client.as(seeded.users[1]).payments.create.try(hash)
  expect(ok).toBe(true)
})

test('begins anew in the worker that follows a failure', async ({ sandbox, farthing, request }) => {
  expect((await request.get(`${farthing.url}/v4/dq`)).ok()).toBe(true)
  expect((await sandbox.requests.list()).requests).toMatchObject([
    { operation_id: 'listDigitalQuantities', origin: 'http' },
  ])
})
