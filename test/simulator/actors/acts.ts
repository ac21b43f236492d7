import type { Act } from './act.js'
import { agentActs } from './agents.js'
import { operatorActs, storyActs } from './chapters.js'
import { marketActs } from './market.js'
import { paymentActs } from './payments.js'
import { sellerActs } from './sellers.js'
import { visitActs } from './visits.js'
import { x402Acts } from './x402.js'

/** Everything that the people of a simulation do, by name. */
export const acts: Readonly<Record<string, Act>> = {
  ...paymentActs,
  ...marketActs,
  ...agentActs,
  ...sellerActs,
  ...visitActs,
  ...x402Acts,
  ...storyActs,
  ...operatorActs,
}
