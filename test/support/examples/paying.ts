import { privateKeyToAccount } from 'viem/accounts'
import type { Call } from '../api.js'
import { offerIn, payHeader } from '../scenes/paid-calls.js'
import { fundAddress, paymentOf, settle, verify } from '../scenes/x402.js'
import type { Tour } from './tour.js'

/** The chapter of the tour in which an address pays by x402. */
export async function x402(call: Call, { ada }: Tour): Promise<void> {
  await call('GET', '/x402/supported')
  await call('POST', '/_sandbox/wallets', { body: { twin: ada.hostname } })
  const account = privateKeyToAccount(`0x${'1'.repeat(64)}`)
  await fundAddress(call, account.address, 1)
  await call('GET', '/_sandbox/wallets')
  const payment = await paymentOf(account, { nonce: `0x${'2'.repeat(64)}` })
  await verify(call, payment)
  await settle(call, payment)
}

/** The chapter in which an address buys an item, and pays in the call itself. */
export async function itemCalls(call: Call, { item }: Tour): Promise<void> {
  const account = privateKeyToAccount(`0x${'3'.repeat(64)}`)
  await call('POST', '/_sandbox/fund', { body: { address: account.address, amount: 5, dq: item.dq } })
  const path = `/v4/catalog/items/${item.id}/call`
  const body = { city: 'Oslo' }
  const offer = offerIn(await call('POST', path, { body }))
  await call('POST', path, { body, headers: await payHeader(account, offer, { nonce: `0x${'4'.repeat(64)}` }) })
  const headers = await payHeader(account, offer, { nonce: `0x${'5'.repeat(64)}` })
  await call('GET', `${path}?city=Oslo`, { headers })
}
