import { expect, it } from 'vitest'
import { approved, newAgentShop, requestApproval } from '../support/scenes/approvals.js'
import { attacked } from '../support/scenes/attacked.js'
import { setClock } from '../support/scenes/market.js'
import { tokenFor } from '../support/scenes/world.js'

/** Lists by status say what is so now: an approval that no timer has expired yet, and one that changes between two pages. */

const startService = attacked()
const DAY = 86_400_000

async function start() {
  const shop = await newAgentShop(startService)
  const { call, payer, agent, wallet } = shop
  const wish = { kind: 'transfer', address: wallet, amount: 1 }
  const ask = async () => (await requestApproval(call, agent, wish)).body.approval_id as string
  const listed = async (status: string, query = '') =>
    (await call('GET', `/v4/approvals?status=${status}${query}`, { token: payer.token })).body.approvals.map(
      (row: { approval_id: string; status: string }) => [row.approval_id, row.status],
    )
  return { ...shop, wish, ask, listed }
}

it('what has expired is listed as expired before that is stored', async () => {
  const { call, at, ask, listed, ...shop } = await start()
  const pending = await ask()
  const given = await approved(call, shop, shop.wish)
  expect(await listed('pending')).toEqual([[pending, 'pending']])
  expect(await listed('approved')).toEqual([[given, 'approved']])
  // No timer runs as the clock goes back, and nothing from ahead of it counts.
  await setClock(call, at - DAY)
  const { payer } = shop
  const caller = { token: await tokenFor(call, payer.clientId, payer.clientSecret) }
  const now = async (status: string) =>
    (await call('GET', `/v4/approvals?status=${status}`, caller)).body.approvals.map(
      (row: { approval_id: string; status: string }) => [row.approval_id, row.status],
    )
  expect(await now('pending')).toEqual([])
  expect(await now('approved')).toEqual([])
  expect(await now('expired')).toEqual([
    [given, 'expired'],
    [pending, 'expired'],
  ])
  const first = (await call('GET', '/v4/approvals?status=expired&limit=1', caller)).body
  expect([first.approvals[0].approval_id, first.next]).toEqual([given, given])
  const second = (await call('GET', `/v4/approvals?status=expired&limit=1&after=${given}`, caller)).body
  expect([second.approvals[0].approval_id, second.next]).toEqual([pending, null])
})

it('an approval that is answered between two pages is still a cursor', async () => {
  const { call, payer, ask } = await start()
  const asked = [await ask(), await ask(), await ask()]
  const page = (after = '') => call('GET', `/v4/approvals?status=pending&limit=1${after}`, { token: payer.token })
  const { body } = await page()
  expect(body.next).toBe(asked[2])
  expect((await call('POST', `/v4/approvals/${asked[2]}/reject`, { token: payer.token })).status).toBe(200)
  const next = await page(`&after=${body.next}`)
  expect([next.status, next.body.approvals?.[0].approval_id]).toEqual([200, asked[1]])
})
