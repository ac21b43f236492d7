import { privateKeyToAccount } from 'viem/accounts'
import type { Call } from '../api.js'
import { offerIn, payHeader } from '../scenes/paid-calls.js'
import { fundAddress, paymentOf, settle, verify } from '../scenes/x402.js'
import type { Tour } from './tour.js'

/** How to call what is paid for. */
export const REPORT = {
  info: { input: { type: 'http', method: 'GET', queryParams: { year: '2031' } } },
  schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { input: { type: 'object', properties: { method: { const: 'GET' } } } },
    required: ['input'],
  },
}

/** The chapter of the tour in which an address pays by x402. */
export async function x402(call: Call, { ada }: Tour): Promise<void> {
  await call('GET', '/x402/supported')
  await call('POST', '/_sandbox/wallets', { body: { twin: ada.hostname } })
  const account = privateKeyToAccount(`0x${'1'.repeat(64)}`)
  await fundAddress(call, account.address, 1)
  await call('GET', '/_sandbox/wallets')
  const payment = await paymentOf(account, { nonce: `0x${'2'.repeat(64)}`, extensions: { bazaar: REPORT } })
  await verify(call, payment)
  await settle(call, payment)
  await call('GET', '/x402/discovery/resources?type=http&limit=1')
  await call('GET', '/x402/discovery/search?query=report')
  const hidden = { nonce: `0x${'3'.repeat(64)}`, extensions: { bazaar: { info: REPORT.info } } } as const
  await settle(call, await paymentOf(account, hidden))
  await call('GET', '/_sandbox/discovery')
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
