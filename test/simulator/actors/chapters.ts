import type { Call } from '../../support/api.js'
import { x402 } from '../../support/examples/paying.js'
import { agents, devices, openid, personas, sessions, transfers, webhooks } from '../../support/examples/people.js'
import { billing, carts, catalog, checkout, controls, money } from '../../support/examples/selling.js'
import type { Tour } from '../../support/examples/tour.js'
import type { Draws } from '../machine/draws.js'
import type { World } from '../world.js'
import { type Act, callAs, tolerantly } from './act.js'

/**
 * Whole stories that the documentation tells of each operation. Their people know no faults: whoever meets one gives
 * up in the middle.
 */
const stories = { agents, carts, catalog, checkout, devices, money, openid, personas, sessions, transfers, webhooks }

const storyAct = (story: (call: Call, tour: Tour) => Promise<void>): Act => ({
  async run(world, draws) {
    await tolerantly(world, 'a story', () => story(callAs(world), tourOf(world, draws)))
  },
})

export function tourOf(world: World, draws: Draws, call = callAs(world)): Tour {
  const { cast } = world
  const at = draws.below(cast.wares.length)
  const [ware, shop] = [cast.wares[at], cast.sellers[at]]
  const item = cast.items.find(({ seller }) => seller === shop)
  if (!ware || !shop || !item) throw new Error('the cast is not whole')
  const reader = draws.pick(cast.readers)
  return {
    url: '',
    seller: shop,
    ada: reader,
    article: { ...ware, hostname: shop.hostname, twinId: shop.twinId },
    item: { ...item, commodity_hash: ware.hash, hostname: shop.hostname },
    dq: cast.dq,
    upstream: { status: 200 },
    async until(path, token, isWanted) {
      for (let tries = 0; tries < 30; tries++) {
        const { body } = await call('GET', path, { token })
        if (body && isWanted(body)) return body
        await world.timeline.wait(500)
      }
      throw new Error(`${path} never answered what was awaited.`)
    },
    approve: () => Promise.reject(new Error('Nobody asks yet.')),
  }
}

export const storyActs = Object.fromEntries(
  Object.entries(stories).map(([name, story]) => [`the story of ${name}`, storyAct(story)]),
)

/** An operator tries what would change everything in a fork, so that it changes nothing here. */
const inFork: Act = {
  async run(world, draws) {
    await tolerantly(world, 'an operator', async () => {
      const call = callAs(world)
      world.records.hasForks = true
      const { body: fork } = await call('POST', '/_sandbox/forks')
      const prefix = new URL(fork.url).pathname
      const there: Call = (method, path, options) => world.call(method, path, { ...options, prefix })
      const tour = tourOf(world, draws, there)
      // Its own credentials, because a token of here may have expired there.
      const part = draws.below(4)
      await x402(there, tour)
      if (part === 0) await agents(there, tour).then(() => controls(there, tour))
      else if (part === 1) await controls(there, { ...tour, approve: async () => 'none' })
      else if (part === 2) await billing(there, tour)
      else await turnOver(there)
      await call('DELETE', `/_sandbox/forks/${fork.id}`)
    })
  },
}

/** Replaces the whole state, again and again. */
async function turnOver(call: Call): Promise<void> {
  const { body: state } = await call('GET', '/_sandbox/snapshot')
  // It is made anew for each fork, which takes long.
  await call('GET', '/v4/openapi.json')
  await call('POST', '/_sandbox/reset')
  await call('PUT', '/_sandbox/snapshot', { body: state })
  await call('POST', '/_sandbox/snapshots', { body: { name: 'kept' } })
  await call('GET', '/_sandbox/snapshots/kept')
  await call('PUT', '/_sandbox/rehearsals/kept', {
    body: { ok: true, runs: 1, plans: 1, random_seed: 1, findings: [], cells: [] },
  })
  await call('GET', '/_sandbox/rehearsals')
  await call('GET', '/_sandbox/rehearsals/kept')
  await call('GET', '/_sandbox/credentials')
  await call('GET', '/_sandbox/rows')
  await call('GET', '/_sandbox/rows/payments?limit=5')
  await call('GET', '/_sandbox/clock/next')
  await call('POST', '/_sandbox/act-as', { body: { principal: 'user:1' } })
  const { body: sold } = await call('GET', '/_sandbox/rows/commodities?limit=1')
  await call('PUT', `/_sandbox/commodities/${sold?.rows?.[0]?.id ?? 'none'}`, { body: { cost: 0.5 } })
  await call('DELETE', '/_sandbox/outbox')
  await call('DELETE', '/_sandbox/requests')
  await call('POST', '/_sandbox/encryption-key/forget')
  const { body: left } = await call('GET', '/_sandbox/dead-letters')
  await call('POST', `/_sandbox/dead-letters/${left?.dead_letters?.[0]?.id ?? 'none'}/retry`)
}

export const operatorActs = { inFork }
