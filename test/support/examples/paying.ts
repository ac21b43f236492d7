import { privateKeyToAccount } from 'viem/accounts'
import type { Call } from '../api.js'
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
