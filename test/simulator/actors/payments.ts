import type { Draws } from '../machine/draws.js'
import type { Person, World } from '../world.js'
import type { Act } from './act.js'

/** Readers pay for wares, and sellers validate. */

const pay: Act = {
  weight: 12,
  async run(world, draws) {
    const ware = draws.pick(world.cast.wares)
    const reader = draws.pick(world.cast.readers)
    const shown = await world.call('GET', `/v4/commodity/${ware.hash}`)
    if (shown.status !== 200) return
    const { cost, dq } = shown.body
    const asked = world.ask(`${reader.name} pays ${cost} for ${ware.hash}`)
    const body = { cost, dq, hostname: reader.hostname }
    const paid = await world.call('POST', `/v4/payment/${ware.hash}`, { by: reader, asked, body })
    if (paid.status !== 202) return
    const { id, nonce, timestamp, amount } = paid.body
    world.records.pay(id, { payer: reader.name, price: cost, asked }, amount)
    if (draws.oneIn(4)) await world.call('GET', `/v4/payments/${id}`, { by: reader })
    const query = new URLSearchParams({ nonce, timestamp: String(timestamp) })
    if (draws.oneIn(6)) await world.call('GET', `/v4/payment/${ware.hash}/validate?${query}`, { by: ware.seller })
    const proof = { nonce, timestamp }
    await Promise.all([validate(world, ware, proof), ...(draws.oneIn(3) ? [validate(world, ware, proof)] : [])])
    if (draws.oneIn(4)) await validate(world, ware, proof)
  },
}

async function validate(world: World, { hash, seller }: { hash: string; seller: Person }, proof: object) {
  const asked = world.ask(`${seller.name} validates ${JSON.stringify(proof)}`)
  const { status } = await world.call('POST', `/v4/payment/${hash}/validate`, { by: seller, asked, body: proof })
  if (status === 200) world.records.use(`nonce ${JSON.stringify(proof)}`, asked.key)
}

const lists: Act = {
  weight: 2,
  async run(world, draws) {
    const reader = draws.pick(world.cast.readers)
    const ware = draws.pick(world.cast.wares)
    await world.call('GET', '/v4/payments?limit=5', { by: reader })
    await world.call('GET', `/v4/commodity/${ware.hash}/transactions?limit=3`, { by: ware.seller })
    await world.call('GET', '/v4/commodities?limit=2', { by: ware.seller })
    const headers = { accept: 'application/json' }
    const paper = draws.pick(['binder', 'inventory'])
    await world.call('GET', `/v4/twin/${reader.hostname}/${paper}`, { by: reader, headers })
  },
}

const topUp: Act = {
  weight: 5,
  async run(world, draws) {
    const reader = draws.pick(world.cast.readers)
    const amount = draws.between(1, 5)
    const method = draws.pick(['pm_card_visa', 'pm_card_mastercard', 'pm_card_chargeDeclined', 'pm_processor_down'])
    const asked = world.ask(`${reader.name} tops up ${amount} by ${method}`)
    const body = { amount, payment_method_id: method }
    await world.call('POST', `/v4/twin/${reader.hostname}/topup`, { by: reader, asked, body })
  },
}

const transfer: Act = {
  weight: 4,
  async run(world, draws) {
    const [from, to] = twoOf(draws, world.cast.readers)
    const address = draws.pick([to.hostname, to.email, `stranger-${draws.below(3)}@example.test`])
    const asked = world.ask(`${from.name} transfers to ${address}`)
    const body = { address, amount: draws.between(1, 9) / 10 }
    const sent = await world.call('POST', '/v4/transfer', { by: from, asked, body })
    if (sent.status !== 201) return
    await world.call('GET', `/v4/transfers/${sent.body.id}`, { by: from })
    if (sent.body.status !== 'invited' || draws.oneIn(2)) return
    const cancelling = world.ask(`${from.name} cancels ${sent.body.id}`)
    await world.call('POST', `/v4/transfers/${sent.body.id}/cancel`, { by: from, asked: cancelling })
    await world.call('GET', '/v4/transfers?limit=3', { by: from })
  },
}

export function twoOf<T>(draws: Draws, from: readonly T[]): [T, T] {
  const first = draws.below(from.length)
  const second = (first + draws.between(1, from.length - 1)) % from.length
  return [from[first] as T, from[second] as T]
}

export const paymentActs = { pay, lists, topUp, transfer }
