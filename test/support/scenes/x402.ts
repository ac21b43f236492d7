import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { quantityHash } from '../../../src/money/digital-quantities/digital-quantity.js'
import type { Call } from '../api.js'

/** Payers of x402 and what they sign, with viem, as clients do. */

export const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
export const NETWORK = 'eip155:84532'
export const SHOP = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
/** Of the digital quantity USDC. */
export const USDC_DQ = quantityHash({
  name: 'USD Coin',
  shortcode: 'USDC',
  shortdescription: 'Test dollars of the dialects x402 and MPP, to a millionth.',
  decimals: 6,
})

let made = 0

/** An account with a new key, which is the same in each run. */
export const newAccount = (): PrivateKeyAccount => privateKeyToAccount(`0x${String(++made).padStart(64, '7')}`)

export interface Signing {
  /** Smallest units. */
  readonly amount?: string
  readonly payTo?: string
  readonly asset?: string
  readonly network?: string
  readonly name?: string
  readonly version?: string
  readonly nonce?: `0x${string}`
  readonly validAfter?: number
  readonly validBefore?: number
  readonly extensions?: object
  readonly resource?: string
}

const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

export const required = ({
  amount = '10000',
  payTo = SHOP,
  asset = USDC,
  network = NETWORK,
  name = 'USDC',
  version = '2',
}: Signing = {}) => ({
  ...{ scheme: 'exact', network, amount, asset, payTo, maxTimeoutSeconds: 60 },
  extra: { name, version },
})

export const newNonce = (): `0x${string}` => `0x${String(++made).padStart(64, '0')}`

/** What is signed, and by which domain. Times are far away: the clock of a sandbox may stand anywhere. */
async function signed(account: PrivateKeyAccount, signing: Signing) {
  const { amount, asset, payTo, extra, network } = required(signing)
  const { nonce = newNonce(), validAfter = 0, validBefore = 4_102_444_800 } = signing
  const message = { from: account.address, to: payTo as `0x${string}`, nonce }
  const numbers = { value: amount, validAfter: String(validAfter), validBefore: String(validBefore) }
  const signature = await account.signTypedData({
    domain: { ...extra, chainId: Number(network.split(':')[1]), verifyingContract: asset as `0x${string}` },
    types,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...message,
      value: BigInt(numbers.value),
      validAfter: BigInt(numbers.validAfter),
      validBefore: BigInt(numbers.validBefore),
    },
  })
  return { signature: signature as string, authorization: { ...message, to: message.to as string, ...numbers } }
}

/** The body of /x402/verify and /x402/settle in version 2. */
export async function paymentOf(account: PrivateKeyAccount, signing: Signing = {}) {
  const paymentRequirements = required(signing)
  const { resource = 'https://shop.example.test/report', extensions } = signing
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: { url: resource, description: 'A report', mimeType: 'application/json' },
      accepted: paymentRequirements,
      payload: await signed(account, signing),
      ...(extensions && { extensions }),
    },
    paymentRequirements,
  }
}

/** The same in version 1. */
export async function paymentV1Of(account: PrivateKeyAccount, signing: Signing = {}) {
  const { scheme, amount, asset, payTo, extra, maxTimeoutSeconds } = required(signing)
  const network = 'base-sepolia'
  return {
    x402Version: 1,
    paymentPayload: { x402Version: 1, scheme, network, payload: await signed(account, signing) },
    paymentRequirements: {
      ...{ scheme, network, maxAmountRequired: amount, asset, payTo, extra, maxTimeoutSeconds },
      ...{ resource: 'https://shop.example.test/report', description: 'A report', mimeType: 'application/json' },
    },
  }
}

/** An account whose address holds an amount of USDC. */
export async function newWallet(call: Call, balance = 1): Promise<PrivateKeyAccount> {
  const account = newAccount()
  if (balance > 0) await fundAddress(call, account.address, balance)
  return account
}

export const fundAddress = (call: Call, address: string, amount: number) =>
  call('POST', '/_sandbox/fund', { body: { address, amount } })

/** The wallets of the sandbox. */
export const walletsOf = async (call: Call) => (await call('GET', '/_sandbox/wallets')).body.wallets

/** What an address holds in USDC. */
export async function heldBy(call: Call, address: string): Promise<number | undefined> {
  const wallets: { address: string; balances: Record<string, number> }[] = await walletsOf(call)
  return wallets.find((wallet) => wallet.address === address)?.balances[USDC_DQ]
}

export const verify = (call: Call, body: object) => call('POST', '/x402/verify', { body })
export const settle = (call: Call, body: object) => call('POST', '/x402/settle', { body })

/** The example of the specification (schemes/exact/scheme_exact_evm.md). */
export const VECTOR = {
  x402Version: 2,
  resource: {
    url: 'https://api.example.com/premium-data',
    description: 'Access to premium market data',
    mimeType: 'application/json',
  },
  accepted: { ...required(), extra: { assetTransferMethod: 'eip3009', name: 'USDC', version: '2' } },
  payload: {
    signature:
      '0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608a2ce6496642e377d6da8dbbf5836e9bd15092f9ecab05ded3d6293af148b571c',
    authorization: {
      from: '0x857b06519E91e3A54538791bDbb0E22373e36b66',
      to: SHOP,
      value: '10000',
      validAfter: '1740672089',
      validBefore: '1740672154',
      nonce: '0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480',
    },
  },
}
