import fc from 'fast-check'
import { verifyTypedData } from 'viem'
import { expect, test } from 'vitest'
import { createService } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { apply, change, type Json } from '../support/changed-json.js'
import { howMuch } from '../support/how-much.js'
import { fundAddress, heldBy, newAccount, newNonce, paymentOf, SHOP, settle, verify } from '../support/scenes/x402.js'

/** Signed payments that somebody has changed: nothing moves but what a valid signature says, and no request is too odd. */

const PAYERS = 3
const FUNDS = 1
// 20,000 in all, in four services.
const requests = howMuch(250, 5000)
const services = howMuch([1], [1, 2, 3, 4])

const attempt = fc.record({
  payer: fc.nat(PAYERS - 1),
  signed: fc.constantFrom('10000', '250000', '1', '1500000'),
  changes: fc.array(change, { maxLength: 3 }),
  act: fc.constantFrom('settle', 'settle', 'verify'),
})

const types = {
  TransferWithAuthorization: [
    ...['from', 'to'].map((name) => ({ name, type: 'address' })),
    ...['value', 'validAfter', 'validBefore'].map((name) => ({ name, type: 'uint256' })),
    { name: 'nonce', type: 'bytes32' },
  ],
}

/** Whether viem takes the signature of what was sent, for the token of the sandbox. */
async function isSigned({ paymentPayload, paymentRequirements }: Sent): Promise<boolean> {
  const { signature, authorization } = paymentPayload.payload
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const [times, amount] = [{ validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) }, BigInt(value)]
  return verifyTypedData({
    address: from.toLowerCase() as `0x${string}`,
    domain: {
      name: 'USDC',
      version: '2',
      chainId: 84532,
      verifyingContract: paymentRequirements.asset.toLowerCase() as `0x${string}`,
    },
    types,
    primaryType: 'TransferWithAuthorization',
    message: { from: from.toLowerCase(), to: to.toLowerCase(), value: amount, ...times, nonce },
    signature: signature as `0x${string}`,
  })
}

type Sent = Awaited<ReturnType<typeof paymentOf>>

test.each(services)(`${requests} changed payments move only what a valid signature says (service %i)`, async () => {
  const service = createService({ sandbox: true, journal: false })
  const call: Call = caller({ url: 'http://127.0.0.1:4242', fetch: (request) => service.fetch(request) })
  const accounts = Array.from({ length: PAYERS }, newAccount)
  for (const { address } of accounts) await fundAddress(call, address, FUNDS)
  const paid = new Map(accounts.map(({ address }) => [address.toLowerCase(), 0n]))
  const nonces = new Set<string>()
  const seen = { paid: 0, refused: 0, malformed: 0 }

  const property = fc.asyncProperty(attempt, async ({ payer, signed, changes, act }) => {
    const account = accounts[payer] ?? newAccount()
    const body = (await paymentOf(account, { amount: signed, nonce: newNonce() })) as unknown as Json
    const sent = changes.reduce<Json>(
      (each, one) => (each !== null && typeof each === 'object' ? apply(each, one) : each),
      body,
    )
    const { status, body: answer } = await (act === 'settle' ? settle : verify)(call, sent as object)
    expect([200, 400, 409]).toContain(status)
    if (status !== 200) return void seen.malformed++
    if (!(answer.success ?? answer.isValid)) return void seen.refused++
    expect(await isSigned(sent as unknown as Sent)).toBe(true)
    if (act === 'verify') return
    seen.paid++
    const { from, to, value, nonce } = (sent as unknown as Sent).paymentPayload.payload.authorization
    expect(nonces.has(`${from} ${nonce}`.toLowerCase())).toBe(false)
    nonces.add(`${from} ${nonce}`.toLowerCase())
    expect(to.toLowerCase()).toBe((sent as unknown as Sent).paymentRequirements.payTo.toLowerCase())
    paid.set(from.toLowerCase(), (paid.get(from.toLowerCase()) ?? 0n) + BigInt(value))
  })
  await fc.assert(property, { numRuns: requests, endOnFailure: true })

  for (const [address, sum] of paid) {
    const account = accounts.find((each) => each.address.toLowerCase() === address)
    expect(account).toBeDefined()
    expect(await heldBy(call, account?.address ?? '')).toBeCloseTo(FUNDS - Number(sum) / 1e6, 6)
  }
  const all = [...paid.values()].reduce((sum, each) => sum + each, 0n)
  expect(await heldBy(call, SHOP)).toBeCloseTo(Number(all) / 1e6, 6)
  expect((await call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true })
  // Each way to end was tried.
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(requests / 60)
  await service.close()
})
