// What settling a signed transfer costs beside a plain payment, in one process. The check of its signature is the curve's, and done
// once: a payment that was verified a moment before settles without it.
import { privateKeyToAccount } from 'viem/accounts'
import { median } from './figures.mjs'
import { openShop } from './shop.mjs'

const BATCH = 150
const BATCHES = 10
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
  return JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: requirements })
}

/** Microseconds of processor time for each call. */
async function microsOf(count, work) {
  const before = process.cpuUsage()
  for (let n = 0; n < count; n++) await work(n)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

export async function x402Figures({ rounds }) {
  const { service, pay } = await openShop()
  const account = privateKeyToAccount(`0x${'7'.repeat(64)}`)
  await service.sandbox.fund({ address: account.address, amount: 1000 })
  const headers = { 'content-type': 'application/json' }
  const ask = async (path, body) => {
    const answer = await service.fetch(
      new Request(`http://127.0.0.1:4242/x402/${path}`, { method: 'POST', headers, body }),
    )
    return answer.json()
  }
  const verify = async (body) => {
    if (!(await ask('verify', body)).isValid) throw new Error('a payment was not valid')
  }
  const settle = async (body) => {
    if (!(await ask('settle', body)).success) throw new Error('a settlement was refused')
  }
  let signing = 0
  const signMany = () => Promise.all(Array.from({ length: BATCH }, () => signed(account, ++signing)))
  const took = []
  for (let round = 0; round <= rounds; round++) {
    const sums = { plain: 0, settling: 0, verified: 0 }
    // In turns, so that each has the same ledger and heap.
    for (let batch = 0; batch < BATCHES; batch++) {
      sums.plain += await microsOf(BATCH, pay)
      const unknown = await signMany()
      sums.settling += await microsOf(BATCH, (n) => settle(unknown[n]))
      const known = await signMany()
      for (const body of known) await verify(body)
      sums.verified += await microsOf(BATCH, (n) => settle(known[n]))
    }
    // The first round warms up.
    if (round > 0) took.push(sums)
  }
  await service.close()
  const [plain, settling, verified] = ['plain', 'settling', 'verified'].map(
    (name) => median(took.map((each) => each[name])) / BATCHES,
  )
  const signature = settling - verified
  const detail = `${settling.toFixed(0)} us, of which the signature ${signature.toFixed(0)}, beside ${plain.toFixed(0)} us for a payment`
  return [
    {
      name: 'rate of settling by x402 what was verified before / of a payment',
      ratio: plain / verified,
      target: '>= 0.5',
      detail,
    },
    { name: 'rate of settling by x402 / of a payment', ratio: plain / settling, target: 'none: the signature', detail },
  ]
}
