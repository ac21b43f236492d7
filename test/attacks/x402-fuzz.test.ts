import fc from 'fast-check'
import { verifyTypedData } from 'viem'
import { expect, test } from 'vitest'
import { createService } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { fundAddress, heldBy, newAccount, newNonce, paymentOf, SHOP, settle, verify } from '../support/scenes/x402.js'

/** Signed payments that somebody has changed: nothing moves but what a valid signature says, and no request is too odd. */

const PAYERS = 3
const FUNDS = 1
const requests = howMuch(600, 20_000)

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** The paths of every value in a body. */
function pathsIn(value: Json, path: string[] = []): string[][] {
  if (value === null || typeof value !== 'object') return [path]
  return [path, ...Object.entries(value).flatMap(([name, each]) => pathsIn(each as Json, [...path, name]))].slice(
    path.length === 0 ? 1 : 0,
  )
}

function valueAt(body: Json, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((value, name) => (value as Record<string, Json> | undefined)?.[name], body)
}

/** The body with another value in one place. Undefined removes it. */
function changed(body: Json, [name = '', ...rest]: readonly string[], value: Json | undefined): Json {
  const copy = Array.isArray(body) ? [...body] : { ...(body as Record<string, Json>) }
  const holder = copy as Record<string, Json>
  if (rest.length > 0) holder[name] = changed(holder[name] as Json, rest, value)
  else if (value === undefined) delete holder[name]
  else holder[name] = value
  return copy as Json
}

const oddTexts = ['', '0', '-1', '1e3', '10001', '0x', `0x${'00'.repeat(65)}`, `0x${'ff'.repeat(65)}`, `${2n ** 256n}`]
const oddValues: (Json | undefined)[] = [undefined, null, true, 0, -1, 1.5, 2 ** 53, [], {}, ['0x'], { a: { b: [] } }]

/** What becomes of a text: one character of it changes, it is cut, doubled, or spelled in another case. */
function bent(text: string, { at, how, digit }: { at: number; how: number; digit: string }): string {
  const place = text.length === 0 ? 0 : at % text.length
  if (how === 0) return text.slice(0, place) + digit + text.slice(place + 1)
  if (how === 1) return text.slice(0, place)
  if (how === 2) return text + text
  return how === 3 ? text.toUpperCase() : text.toLowerCase()
}

const change = fc.record({
  path: fc.nat(),
  kind: fc.constantFrom('bend', 'bend', 'bend', 'text', 'value', 'swap'),
  at: fc.nat(),
  how: fc.nat(4),
  digit: fc.constantFrom(...'0123456789abcdefg"\u0000é'),
  text: fc.constantFrom(...oddTexts),
  value: fc.constantFrom(...oddValues),
})

type Change = typeof change extends fc.Arbitrary<infer C> ? C : never

function apply(body: Json, { path: number, kind, text, value, ...bending }: Change): Json {
  const paths = pathsIn(body)
  const path = paths[number % paths.length] ?? []
  const old = valueAt(body, path)
  if (kind === 'swap') return changed(body, path, valueAt(body, paths[bending.at % paths.length] ?? []))
  if (kind === 'value') return changed(body, path, value)
  return changed(body, path, kind === 'bend' && typeof old === 'string' ? bent(old, bending) : text)
}

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

test(`${requests} changed payments move only what a valid signature says`, async () => {
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
