import { expect, it } from 'vitest'
import type { Call, CallOptions } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newBusiness } from '../../support/scenes/account-changes.js'
import { answerApproval, newAgentShop, requestApproval } from '../../support/scenes/approvals.js'
import { newItem } from '../../support/scenes/catalog.js'
import { expectProblem } from '../../support/scenes/market.js'
import { answerLink, mailedLink } from '../../support/scenes/second-factor.js'
import { lastMail } from '../../support/scenes/transfers.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newSession } from '../../support/scenes/world.js'

const upstream = useUpstream()
const sold = () => ({ external_endpoint: `${upstream.url}/ok` })
const OSLO = { arguments: { city: 'Oslo', hours: 3 } }

/** The mailed lines of an agent's request, which the user then rejects. */
async function secondFactorOf(
  call: Call,
  { agent, session, email }: { agent: CallOptions; session: string; email: string },
  wish: object,
): Promise<string[]> {
  const { approval_id } = (await requestApproval(call, agent, wish)).body
  const answer = answerApproval(call, { session }, approval_id)
  await expect.poll(async () => (await lastMail(call, email)).text).toContain(`Approval: ${approval_id}`)
  const { text } = await lastMail(call, email)
  await answerLink(call, await mailedLink(call, email), 'reject')
  expectProblem(await answer, 403, 'rejected')
  return text.split('\n')
}

contract('the second factor of an approval', (start) => {
  it('shows the payee and the amount on the second device, whatever the summary says', async () => {
    const shop = await newAgentShop(start, { ...sold(), name: 'Tea” from “Tea House” for 0.01 USD' })
    const { call, agent, payer, item } = shop
    const session = await newSession(call, payer.email)
    const linesFor = (wish: object) => secondFactorOf(call, { agent, session, email: payer.email }, wish)
    const { dq } = item
    const wished = { catalog_item_id: item.id, ...OSLO }
    expect(await linesFor({ kind: 'purchase', ...wished })).toEqual(
      expect.arrayContaining([
        `Request: Buy “Tea' from 'Tea House' for 0.01 USD” from “${item.hostname}” for 0.25 USD`,
        `Payee: ${item.hostname}`,
        'Amount: 0.25 USD',
        `Digital quantity: ${dq}`,
        'Arguments: {"city":"Oslo","hours":3}',
      ]),
    )
    const address = `${'a'.repeat(60)}@${'bank-support.'.repeat(5)}thief.example.test`
    expect(await linesFor({ kind: 'transfer', address, amount: 5 })).toEqual(
      expect.arrayContaining([`Request: Send 5.00 USD to “${address}”`, `Payee: ${address}`, 'Amount: 5.00 USD']),
    )
    const serviceUrl = `${upstream.url}/ok`
    const paywall = { kind: 'paywall', amount: 1, destination: item.hostname, serviceUrl, additionalParams: { n: 1 } }
    expect(await linesFor(paywall)).toEqual(
      expect.arrayContaining([
        `Payee: ${item.hostname}`,
        `Service: ${serviceUrl.replace('//', ' //')}`,
        'Sent with it: {"n":1}',
      ]),
    )
    const cart = (await call('POST', '/v4/carts', agent)).body.id
    await call('POST', `/v4/carts/${cart}/items`, { ...agent, body: { ...wished, quantity: 2 } })
    expect(await linesFor({ kind: 'cart', cart_id: cart })).toEqual(
      expect.arrayContaining([
        `Payees: ${item.hostname}`,
        'Amount: 0.50 USD',
        `Line 1: 2 at 0.25 USD from ${item.hostname}: Tea” from “Tea House” for 0.01 USD {"city":"Oslo","hours":3}`,
      ]),
    )
  })

  it('shows on the second device how an account change sets each field', async () => {
    const {
      call,
      made: { agent, seller, email, session },
    } = await startWith(start, newBusiness)
    const item = await newItem(call, seller)
    const linesFor = (change: object) =>
      secondFactorOf(call, { agent, session, email }, { kind: 'account_change', change })
    const profile = { kind: 'update_account', billing_email: 'bills@example.test', tax_number: 'NO 123' }
    expect(await linesFor(profile)).toEqual(
      expect.arrayContaining([
        `Account: Account ${seller.id}`,
        'Billing email: bills@example.test',
        'Tax number: NO 123',
      ]),
    )
    expect(await linesFor({ kind: 'update_item', catalog_item_id: item.id, price: 0.5, active: false })).toEqual(
      expect.arrayContaining(['Item: City weather', 'Price: 0.50 USD', 'Active: false']),
    )
  })

  it('cuts long texts between characters, so that a summary stays text', async () => {
    const { call, agent, item } = await newAgentShop(start, sold())
    const serviceUrl = `${upstream.url}/${'a'.repeat(118 - upstream.url.length)}😀😀`
    const wish = { kind: 'paywall', amount: 1, destination: item.hostname, serviceUrl }
    const { summary } = (await requestApproval(call, agent, wish)).body
    expect(summary).toContain('a😀…”')
  })
})
