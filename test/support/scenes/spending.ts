import type { Call } from '../api.js'
import type { Start } from '../contract/contract.js'
import { balancesOf, fund } from './market.js'
import { paywall } from './paywall.js'
import { newDelegate, newPersona } from './personas.js'
import { newCommodity, newPayer, newSeller } from './world.js'

/** Spending by delegates in quantities of different decimals, through the public interface. */

const POINTS = { name: 'Points', shortcode: 'PTS', decimals: 0 }
const GRAMS = { name: 'Grams', shortcode: 'G', decimals: 6 }

/** What the twin that delegates spend from holds of each quantity. */
const FUNDS = 9000

/** The hashes of the service's quantities, by shortcode. */
async function hashesOf(call: Call): Promise<Record<string, string>> {
  const { metadata } = (await call('GET', '/v4/dq')).body
  const named = Object.entries<{ shortcode: string }>(metadata)
  return Object.fromEntries(named.map(([hash, { shortcode }]) => [shortcode, hash]))
}

/** A user whose twin holds a lot of dollars, points and grams, a shop, and a spender that gets delegates. */
export async function newSpending(start: Start) {
  const { call } = await start({ seed: { digital_quantities: [POINTS, GRAMS] } })
  const { USD = '', PTS = '', G = '' } = await hashesOf(call)
  const shop = await newSeller(call)
  const { hostname } = await newCommodity(call, shop)
  const ada = await newPayer(call, shop)
  for (const dq of [USD, PTS, G]) await fund(call, ada.hostname, FUNDS, dq)
  const persona = await newPersona(call, ada)
  const spender = await newSeller(call)
  const allow = async (dq: string, limit: number) => {
    const spend = { party: { client_id: spender.clientId }, dq, limit }
    return (await newDelegate(call, ada, { persona: persona.hash, hostname, spend })).hash
  }
  const pay = (persona_delegate: string, order: object) =>
    paywall(call, { token: spender.token }, { persona_delegate, destination: hostname, ...order })
  /** What the user has paid, by quantity. */
  const paid = async () => {
    const balances = await balancesOf(call, ada.token, ada.hostname)
    return Object.fromEntries([USD, PTS, G].map((dq) => [dq, FUNDS - (balances[dq] ?? 0)]))
  }
  return { call, shop, spender, allow, pay, paid, dqs: { USD, PTS, G } }
}
