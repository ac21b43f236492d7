// What settling a signed transfer costs beside a plain payment, in one process: with the check of its signature, and without.
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hashTypedData, hexToBytes } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { median } from './figures.mjs'
import { openShop } from './shop.mjs'

const SETTLED = 1500
const requirements = {
  ...{ scheme: 'exact', network: 'eip155:84532', amount: '10', maxTimeoutSeconds: 60 },
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
  extra: { name: 'USDC', version: '2' },
}
const types = {
  TransferWithAuthorization: [
    ...['from', 'to'].map((name) => ({ name, type: 'address' })),
    ...['value', 'validAfter', 'validBefore'].map((name) => ({ name, type: 'uint256' })),
    { name: 'nonce', type: 'bytes32' },
  ],
}

async function signed(account, n) {
  const message = { from: account.address, to: requirements.payTo, nonce: `0x${n.toString(16).padStart(64, '0')}` }
  const numbers = { value: 10n, validAfter: 0n, validBefore: 4_102_444_800n }
  const domain = { ...requirements.extra, chainId: 84532, verifyingContract: requirements.asset }
  const typed = { domain, types, primaryType: 'TransferWithAuthorization', message: { ...message, ...numbers } }
  const signature = await account.signTypedData(typed)
  const texts = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)]))
  const payload = { signature, authorization: { ...message, ...texts } }
  const paymentPayload = { x402Version: 2, accepted: requirements, payload }
  const body = JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: requirements })
  return { body, signature, hash: hexToBytes(hashTypedData(typed)) }
}

/** Microseconds of processor time for each call. */
async function microsOf(count, work) {
  const before = process.cpuUsage()
  for (let n = 0; n < count; n++) await work(n)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

/** The least that the check of a signature costs: the library finds its key. */
function recover({ hash, signature }) {
  const bytes = Buffer.from(signature.slice(2), 'hex')
  const compact = secp256k1.Signature.fromBytes(bytes.subarray(0, 64), 'compact')
  compact
    .addRecoveryBit(bytes[64] - 27)
    .recoverPublicKey(hash)
    .toBytes(false)
}

export async function x402Figures({ rounds }) {
  const { service, pay } = await openShop()
  const account = privateKeyToAccount(`0x${'7'.repeat(64)}`)
  await service.sandbox.fund({ address: account.address, amount: 1000 })
  const headers = { 'content-type': 'application/json' }
  const settle = async (body) => {
    const answer = await service.fetch(
      new Request('http://127.0.0.1:4242/x402/settle', { method: 'POST', headers, body }),
    )
    if (!(await answer.json()).success) throw new Error('a settlement was refused')
  }
  const took = []
  for (let round = 0; round <= rounds; round++) {
    const payments = []
    for (let n = 0; n < SETTLED; n++) payments.push(await signed(account, round * SETTLED + n))
    const plain = await microsOf(SETTLED, pay)
    const settling = await microsOf(SETTLED, (n) => settle(payments[n].body))
    const signature = await microsOf(SETTLED, (n) => recover(payments[n]))
    // The first round warms up.
    if (round > 0) took.push({ plain, settling, signature })
  }
  await service.close()
  const [plain, settling, signature] = ['plain', 'settling', 'signature'].map((name) =>
    median(took.map((each) => each[name])),
  )
  const detail = `${settling.toFixed(0)} us, of which the signature ${signature.toFixed(0)}, beside ${plain.toFixed(0)} us for a payment`
  return [
    {
      name: 'rate of settling by x402 without its signature / of a payment',
      ratio: plain / (settling - signature),
      target: '>= 0.5',
      detail,
    },
    { name: 'rate of settling by x402 / of a payment', ratio: plain / settling, target: 'none: the signature', detail },
  ]
}
