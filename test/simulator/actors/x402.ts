import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { offerIn, payHeader } from '../../support/scenes/paid-calls.js'
import { paymentOf, SHOP } from '../../support/scenes/x402.js'
import type { Draws } from '../machine/draws.js'
import type { World } from '../world.js'
import type { Act } from './act.js'

/** Whoever has a key pays shops by signed transfers. */

const hexOf = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`

async function newPayer(world: World, draws: Draws): Promise<PrivateKeyAccount> {
  // Few keys, so that payers meet their earlier payments again.
  const account = privateKeyToAccount(`0x${String(1 + draws.below(3)).padStart(64, '5')}`)
  const amount = draws.between(1, 4) / 100
  await world.call('POST', '/_sandbox/fund', { body: { address: account.address, amount } })
  return account
}

const settle = (world: World, body: object) => world.call('POST', '/x402/settle', { body, tries: 4 })

/** A shop settles, tries again when no answer comes, and a rival of it settles the same. */
const authorization: Act = {
  weight: 4,
  async run(world, draws) {
    const account = await newPayer(world, draws)
    const nonce = hexOf(draws.bytes(32))
    const payment = await paymentOf(account, { nonce, amount: String(draws.between(1, 3) * 10_000) })
    if (draws.oneIn(3)) await world.call('POST', '/x402/verify', { body: payment })
    const rivals = draws.oneIn(2) ? [payment, payment, payment] : [payment]
    const answers = await Promise.all(rivals.map((each) => settle(world, each)))
    answers.push(await settle(world, payment))
    for (const [n, { status, body }] of answers.entries())
      if (status === 200 && body.success) world.records.use(`authorization ${nonce}`, `answer ${n}`)
  },
}

/** A client that names its payment signs again when no answer comes. */
const named: Act = {
  weight: 3,
  async run(world, draws) {
    const account = await newPayer(world, draws)
    const id = `pay_${hexOf(draws.bytes(16)).slice(2)}`
    const extensions = { 'payment-identifier': { info: { required: false, id } } }
    for (let tries = draws.between(1, 3); tries > 0; tries--) {
      const payment = await paymentOf(account, { nonce: hexOf(draws.bytes(32)), extensions, payTo: SHOP })
      const { status, body } = await settle(world, payment)
      if (status === 200 && body.success) world.records.use(`payment ${id}`, body.transaction)
    }
  },
}

const MODES = ['success_false', 'settlement_pending', 'settlement_pending_always', 'wrong_payer', 'other_receipt']

/** A facilitator that says something else than what happened. The shop settles until it hears of success. */
const hostile: Act = {
  weight: 2,
  async run(world, draws) {
    const account = await newPayer(world, draws)
    const headers = { 'x-sandbox-fault': `after_commit; x402=${draws.pick(MODES)}` }
    const payment = await paymentOf(account, { nonce: hexOf(draws.bytes(32)) })
    await world.call('POST', '/x402/settle', { body: payment, headers, tries: 2 })
    // Nothing pays twice, whatever was said.
    const { status, body } = await settle(world, payment)
    if (status === 200 && body.success)
      world.records.use(`authorization ${payment.paymentPayload.payload.authorization.nonce}`, 'the last')
  },
}

/** A client pays for an item in the call, again when no answer comes, and rivals of it send the same. */
const itemCall: Act = {
  weight: 4,
  async run(world, draws) {
    const item = draws.pick(world.cast.items)
    const account = await newPayer(world, draws)
    const fund = { address: account.address, amount: draws.between(1, 4), dq: item.dq }
    await world.call('POST', '/_sandbox/fund', { body: fund })
    const path = `/v4/catalog/items/${item.id}/call`
    const call = (headers: Record<string, string> = {}) =>
      draws.oneIn(2)
        ? world.call('GET', `${path}?city=Oslo`, { headers })
        : world.call('POST', path, { headers, body: { city: 'Oslo' } })
    await buy(world, draws, { call, account })
  },
}

/** The same for what the paywall calls. */
const paywallCall: Act = {
  weight: 3,
  async run(world, draws) {
    const { hostname: destination } = draws.pick(world.cast.sellers)
    const serviceUrl = `https://api.example.test/story/${draws.pick(['ok', 'ok', 'broken', 'torn', 'gone'])}`
    const body = { amount: draws.between(1, 2) / 100, destination, ...(draws.oneIn(3) ? {} : { serviceUrl }) }
    const account = await newPayer(world, draws)
    const call = (headers: Record<string, string> = {}) => world.call('POST', '/v4/paywall', { headers, body })
    await buy(world, draws, { call, account })
  },
}

interface Buying {
  readonly account: PrivateKeyAccount
  call(headers?: Record<string, string>): ReturnType<World['call']>
}

async function buy(world: World, draws: Draws, { call, account }: Buying): Promise<void> {
  const unpaid = await call()
  if (unpaid.status !== 402) return
  const nonce = hexOf(draws.bytes(32))
  const isNamed = draws.oneIn(2)
  const extensions = isNamed ? { 'payment-identifier': { info: { required: false, id: `pay_${nonce}` } } } : {}
  const headers = await payHeader(account, offerIn(unpaid), { nonce, extensions })
  const rivals = draws.oneIn(2) ? [headers, headers, headers] : [headers]
  const answers = await Promise.all(rivals.map(call))
  answers.push(await call(headers))
  for (const [n, { status, headers }] of answers.entries())
    if (status === 200) world.records.use(`call ${nonce}`, isNamed ? `${headers.get('x-payment-id')}` : `answer ${n}`)
}

export const x402Acts = {
  'a facilitator is hostile': hostile,
  'an authorization is settled': authorization,
  'a named payment is settled': named,
  'an item is called for a payment': itemCall,
  'the paywall is called for a payment': paywallCall,
}
