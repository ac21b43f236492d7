import { secp256k1 } from '@noble/curves/secp256k1.js'
import { expect, it, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { OutcomeUnknown, type Storage } from '../../../src/storage/storage.js'
import { caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { expectProblem, expectSoundLedger, stopClock } from '../../support/scenes/market.js'
import {
  heldBy,
  newAccount,
  newWallet,
  paymentOf,
  paymentV1Of,
  SHOP,
  type Signing,
  settle,
  USDC,
  verify,
  walletsOf,
} from '../../support/scenes/x402.js'

type Payment = Awaited<ReturnType<typeof paymentOf>>

/** A signature with another v. */
const withV = (signature: string, v: number): string => signature.slice(0, -2) + v.toString(16).padStart(2, '0')
const vOf = (signature: string): number => Number.parseInt(signature.slice(-2), 16)

/** The second form of a signature, which verifies too where nobody looks at s. */
function withHighS(signature: string): string {
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const high = (secp256k1.Point.CURVE().n - s).toString(16).padStart(64, '0')
  return `${signature.slice(0, 66)}${high}${(vOf(signature) === 27 ? 28 : 27).toString(16)}`
}

const signed = (change: (signature: string) => string) => (payment: Payment) => {
  payment.paymentPayload.payload.signature = change(payment.paymentPayload.payload.signature)
}
/** Version 1 calls the amount `maxAmountRequired`. */
const due =
  ({ amount, ...fields }: { amount?: string } & Readonly<Record<string, unknown>>) =>
  ({ x402Version, paymentRequirements }: Payment) => {
    const name = x402Version === 1 ? 'maxAmountRequired' : 'amount'
    Object.assign(paymentRequirements, fields, amount !== undefined && { [name]: amount })
  }
const sent = (fields: object) => (payment: Payment) => {
  Object.assign(payment.paymentPayload.payload.authorization, fields)
}

/** A payment of version 1 names base-sepolia anyway. */
function changeNetwork({ x402Version, paymentRequirements, paymentPayload }: Payment) {
  if (x402Version === 1) return
  paymentRequirements.network = 'eip155:84532'
  paymentPayload.accepted = { ...paymentPayload.accepted, network: 'eip155:84532' }
}

/** Each version names networks in its own way. */
function nameAsOther({ x402Version, paymentRequirements, paymentPayload }: Payment) {
  const network = x402Version === 1 ? 'eip155:84532' : 'base-sepolia'
  paymentRequirements.network = network
  if (x402Version === 1) Object.assign(paymentPayload, { network })
  else paymentPayload.accepted = { ...paymentPayload.accepted, network }
}

const NOW = Date.UTC(2031, 4, 1, 12)
const unix = NOW / 1000
const OTHER = '0x1111111111111111111111111111111111111111'

/** Payments that must not pay: how they were signed, what was changed since, and the reasons of both versions. */
const refused: readonly (readonly [
  what: string,
  signing: Signing,
  change: (payment: Payment) => void,
  v2: string,
  v1: string,
])[] = [
  ['another chain', { network: 'eip155:8453' }, changeNetwork, 'signature', 'SIGNATURE'],
  ['another token', { asset: OTHER }, due({ asset: USDC }), 'signature', 'SIGNATURE'],
  ['another payee', { payTo: OTHER }, due({ payTo: SHOP }), 'recipient_mismatch', 'payload_recipient_mismatch'],
  ['a changed value', {}, sent({ value: '1' }), 'signature', 'SIGNATURE'],
  ['a changed nonce', {}, sent({ nonce: `0x${'0'.repeat(64)}` }), 'signature', 'SIGNATURE'],
  ['a payer who did not sign', {}, sent({ from: OTHER }), 'signature', 'SIGNATURE'],
  ['a high s', {}, signed(withHighS), 'signature', 'SIGNATURE'],
  ['v of another key', {}, signed((text) => withV(text, vOf(text) === 27 ? 28 : 27)), 'signature', 'SIGNATURE'],
  ['v 29', {}, signed((text) => withV(text, 29)), 'signature', 'SIGNATURE'],
  ['an empty signature', {}, signed(() => '0x'), 'signature', 'SIGNATURE'],
  ['zeros as a signature', {}, signed(() => `0x${'00'.repeat(65)}`), 'signature', 'SIGNATURE'],
  ['a smart wallet', {}, signed((text) => text + '00'.repeat(64)), 'signature', 'SIGNATURE'],
  ['the past', { validBefore: unix + 5 }, () => {}, 'VALID_BEFORE', 'VALID_BEFORE'],
  ['the future', { validAfter: unix + 1 }, () => {}, 'VALID_AFTER', 'VALID_AFTER'],
  ['less than is due', {}, due({ amount: '10001' }), 'VALUE', 'payload_authorization_value'],
  ['more than is due', {}, due({ amount: '9999' }), 'VALUE', 'payload_authorization_value'],
  ['an unknown token', { asset: OTHER }, () => {}, '=asset_not_deployed_contract', '=invalid_payment_requirements'],
  ['another name of the token', { name: 'USD Coin' }, () => {}, 'token_name_mismatch', 'SIGNATURE'],
  ['another version of the token', { version: '1' }, () => {}, 'token_version_mismatch', 'SIGNATURE'],
  ['no name of the token', {}, due({ extra: null }), 'missing_eip712_domain', '=invalid_payment_requirements'],
  ['an unknown network', {}, due({ network: 'eip155:1' }), 'network_mismatch', '=invalid_network'],
  ['the name that the other version has for it', {}, nameAsOther, 'network_mismatch', '=invalid_network'],
  ['the scheme upto', {}, due({ scheme: 'upto' }), 'scheme', '=unsupported_scheme'],
  ['one unit more than is held', { amount: '10001' }, () => {}, 'insufficient_balance', '=insufficient_funds'],
]

const words: Readonly<Record<string, string>> = {
  SIGNATURE: 'invalid_exact_evm_payload_signature',
  VALID_BEFORE: 'invalid_exact_evm_payload_authorization_valid_before',
  VALID_AFTER: 'invalid_exact_evm_payload_authorization_valid_after',
  VALUE: 'invalid_exact_evm_payload_authorization_value_mismatch',
}
const reasonIn = (word: string): string =>
  words[word] ?? (word.startsWith('=') ? word.slice(1) : `invalid_exact_evm_${word}`)

contract('A facilitator', (start) => {
  it('refuses what was not signed for this payment, in both versions, and moves nothing', async () => {
    const { call } = await start()
    await stopClock(call, NOW)
    const account = await newWallet(call, 0.01)
    for (const [what, signing, change, v2, v1] of refused) {
      const payment = await paymentOf(account, signing)
      change(payment)
      for (const answer of [await verify(call, payment), await settle(call, payment)]) {
        expect(answer.status, what).toBe(200)
        const { invalidReason, errorReason, invalidMessage, errorMessage, isValid, success } = answer.body
        expect([isValid ?? success, invalidReason ?? errorReason], what).toEqual([false, reasonIn(v2)])
        expect(invalidMessage ?? errorMessage, what).toMatch(/\.$/)
      }
      const former = await paymentV1Of(account, signing)
      change(former as unknown as Payment)
      expect((await settle(call, former)).body, what).toMatchObject({ success: false, errorReason: reasonIn(v1) })
    }
    expect(await heldBy(call, account.address)).toBe(0.01)
    expect(await heldBy(call, SHOP)).toBeUndefined()
  })

  it('pays addresses that begin like others', async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const own = account.address.toLowerCase()
    const likes = ['1', '2', '3'].map((end) => own.slice(0, 41) + end).filter((like) => like !== own)
    const [twin] = await walletsOf(call)
    const likeTwin = `0x${twin.hostname.slice(2, 32)}${'3'.repeat(10)}`
    for (const payTo of [...likes, likeTwin])
      expect((await settle(call, await paymentOf(account, { payTo }))).body.success, payTo).toBe(true)
  })

  it('pays no issuer, and stores no payment of nothing', async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const { rows } = (await call('GET', '/_sandbox/rows/twins?limit=20')).body
    const issuer = rows.find(({ owner }: { owner: string }) => owner.startsWith('issuer:'))
    const payTo = `0x${issuer.address.slice(2, 42)}`
    const refusedBy = async (signing: Signing) => (await settle(call, await paymentOf(account, signing))).body
    const reason = { success: false, errorReason: 'invalid_exact_evm_transaction_failed' }
    // Tokens refuse the last two on a chain.
    for (const each of [payTo, `0x${'0'.repeat(40)}`, USDC])
      expect(await refusedBy({ payTo: each })).toMatchObject({
        ...reason,
        errorMessage: expect.stringContaining('Nobody'),
      })
    expect(await refusedBy({ amount: '0' })).toMatchObject({
      ...reason,
      errorMessage: expect.stringContaining('above zero'),
    })
    expect(await heldBy(call, account.address)).toBe(1)
    await expectSoundLedger(call)
  })

  it('says in words what it does not support', async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const says = async (change: (payment: Payment) => void) => {
      const payment = await paymentOf(account)
      change(payment)
      return (await verify(call, payment)).body.invalidMessage
    }
    expect(await says(signed((text) => text + '00'.repeat(64)))).toContain('smart wallets')
    expect(await says(due({ scheme: 'upto' }))).toContain('`upto`')
    const permit2 = await says(({ paymentPayload }) => {
      paymentPayload.payload = { signature: '0x00', permit2Authorization: {} } as never
    })
    expect(permit2).toContain('Permit2')
  })

  it('takes v as 0 and 1 and as 27 and 28, and spends an exact balance', async () => {
    const { call } = await start()
    const account = await newWallet(call, 0.08)
    const seen = new Set<number>()
    for (let i = 0; i < 8; i++) {
      const payment = await paymentOf(account)
      const v = vOf(payment.paymentPayload.payload.signature)
      const short = i % 2 === 0 ? v - 27 : v
      seen.add(short)
      signed((text) => withV(text, short))(payment)
      expect((await settle(call, payment)).body.success).toBe(true)
    }
    expect(seen.size).toBeGreaterThan(2)
    expect(await heldBy(call, account.address)).toBe(0)
  })

  it('moves once when one authorization is settled 50 times in parallel', async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const payment = await paymentOf(account)
    const answers = await Promise.all(Array.from({ length: 50 }, () => settle(call, payment)))
    expect(answers.filter(({ body }) => body.success)).toHaveLength(1)
    const reasons = new Set(answers.map(({ body }) => body.errorReason))
    expect(reasons).toEqual(new Set([undefined, 'invalid_exact_evm_nonce_already_used']))
    expect([await heldBy(call, account.address), await heldBy(call, SHOP)]).toEqual([0.99, 0.01])
    await expectSoundLedger(call)
  })

  it('moves once when one identifier is settled under 20 signatures in parallel', async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const extensions = { 'payment-identifier': { info: { id: 'pay_0123456789abcdef' } } }
    const payments = await Promise.all(Array.from({ length: 20 }, () => paymentOf(account, { extensions })))
    const answers = await Promise.all(payments.map((payment) => settle(call, payment)))
    expect(new Set(answers.map(({ body }) => body.transaction)).size).toBe(1)
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  it('settles rivals for one balance until it is spent', async () => {
    const { call } = await start()
    const account = await newWallet(call, 0.03)
    const payments = await Promise.all(Array.from({ length: 9 }, () => paymentOf(account)))
    const answers = await Promise.all(payments.map((payment) => settle(call, payment)))
    expect(answers.filter(({ body }) => body.success)).toHaveLength(3)
    expect(await heldBy(call, account.address)).toBe(0)
  })

  it('refuses a spent authorization in a restored state, and takes it where it was not spent', async () => {
    const { call } = await start()
    const account = await newWallet(call, 1)
    const payment = await paymentOf(account)
    const before = (await call('GET', '/_sandbox/snapshot')).body
    const { transaction } = (await settle(call, payment)).body
    const after = (await call('GET', '/_sandbox/snapshot')).body
    await call('POST', '/_sandbox/reset', { body: {} })
    expect((await settle(call, payment)).body.errorReason).toBe('invalid_exact_evm_insufficient_balance')
    await call('PUT', '/_sandbox/snapshot', { body: after })
    expect((await settle(call, payment)).body.errorReason).toBe('invalid_exact_evm_nonce_already_used')
    await call('PUT', '/_sandbox/snapshot', { body: before })
    expect((await settle(call, payment)).body).toMatchObject({ success: true, transaction })
    expect(await heldBy(call, account.address)).toBe(0.99)
  })

  it('expires a signature by its own clock', async () => {
    const { call } = await start()
    await stopClock(call, NOW)
    const account = await newWallet(call, 1)
    const payment = await paymentOf(account, { validBefore: unix + 60 })
    expect((await verify(call, payment)).body.isValid).toBe(true)
    await call('POST', '/_sandbox/clock', { body: { advance: '55s' } })
    expect((await settle(call, payment)).body.errorReason).toBe(words.VALID_BEFORE)
    await call('POST', '/_sandbox/clock', { body: { advance: '-1s' } })
    expect((await settle(call, payment)).body.success).toBe(true)
  })

  it('answers a named payment with its first receipt after it has expired', async () => {
    const { call } = await start()
    await stopClock(call, NOW)
    const account = await newWallet(call, 1)
    const extensions = { 'payment-identifier': { info: { id: 'pay_0123456789abcdef' } } }
    const payment = await paymentOf(account, { validBefore: unix + 60, extensions })
    const { body } = await settle(call, payment)
    await call('POST', '/_sandbox/clock', { body: { advance: '1h' } })
    expect((await settle(call, payment)).body).toEqual(body)
    await call('POST', '/_sandbox/clock', { body: { advance: '2d' } })
    expect((await settle(call, payment)).body.errorReason).toBe(words.VALID_BEFORE)
  })
})

test('a settlement without a known outcome is a 503 that says to settle again, and moves once', async () => {
  const inner = memoryStorage()
  let isLost = false
  const storage: Storage = {
    ...inner,
    async write(body) {
      const written = await inner.write(body)
      if (!isLost) return written
      isLost = false
      throw new OutcomeUnknown('The connection broke during the commit.', { reason: 'the connection broke' })
    },
  }
  const service = createService({ sandbox: true, storage, log: { error() {} } })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const account = await newWallet(call, 1)
  const payment = await paymentOf(account)
  isLost = true
  const unknown = await settle(call, payment)
  expectProblem(unknown, 503, 'outcome_unknown')
  expect(unknown.body.error).toContain('Settle the same payment again')
  expect((await settle(call, payment)).body.errorReason).toBe('invalid_exact_evm_nonce_already_used')
  expect(await heldBy(call, account.address)).toBe(0.99)
  await service.close()
})

test('a facilitator that settles again answers the first receipt', async () => {
  const service = createService({ sandbox: true, x402Settle: 'idempotent' })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const account = await newWallet(call, 1)
  const payment = await paymentOf(account)
  const { body } = await settle(call, payment)
  expect(body.success).toBe(true)
  expect((await settle(call, payment)).body).toEqual(body)
  expect((await verify(call, payment)).body.isValid).toBe(true)
  expect(await heldBy(call, account.address)).toBe(0.99)
  await service.close()
})

test('beyond the daily limit of new rows, unknown addresses get no twins, and are still answered', async () => {
  const service = createService({ sandbox: true, limits: { newPerDay: 2 } })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const account = await newWallet(call, 1)
  const stranger = caller({
    url: service.baseUrl,
    fetch: (request) => service.respond(request, { peerAddress: '93.184.215.14' }),
  })
  const from = async (signing: Signing, payer = newAccount()) =>
    (await settle(stranger, await paymentOf(payer, signing))).body
  for (let i = 0; i < 4; i++) expect((await from({})).errorReason).toBe('invalid_exact_evm_insufficient_balance')
  // Of the wallet that was funded, and two that signed.
  expect(await walletsOf(call)).toHaveLength(3)
  const refusedPayee = await from({ payTo: newAccount().address }, account)
  expect(refusedPayee).toMatchObject({
    success: false,
    errorReason: 'invalid_exact_evm_transaction_failed',
    errorMessage: expect.stringContaining('too_many_new'),
  })
  expect(await heldBy(call, account.address)).toBe(1)
  await service.close()
})
