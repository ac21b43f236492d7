import { type App, asClient, newAgent, refreshWith } from '../../support/scenes/oidc.js'
import type { Person, World } from '../world.js'
import { type Act, callAs } from './act.js'

/** Agents act for readers, who approve or do not. */

/** An app that a reader has connected. Undefined if something got in the way. */
async function connectApp(world: World, { email }: Person) {
  const call = callAs(world)
  return newAgent(call, { email }).catch((error: Error) => {
    if (error.name === 'PropertyBroken') throw error
    world.sightings.see('an agent gives up')
    return undefined
  })
}

const buyAsAgent: Act = {
  weight: 4,
  async run(world, draws) {
    const reader = draws.pick(world.cast.readers)
    const item = draws.pick(world.cast.items)
    const agent = await connectApp(world, reader)
    if (!agent) return
    const token = agent.accessToken
    // It pays from a wallet of its own, the reader's newest.
    const { body: listed } = await world.call('GET', '/v4/twins?limit=1', { by: reader })
    const hostname = listed?.twins?.[0]?.hostname
    if (hostname) await world.call('POST', '/_sandbox/fund', { body: { hostname, amount: 5, dq: item.dq } })
    const { body: shown } = await world.call('GET', `/v4/catalog/items/${item.id}`)
    if (!shown) return
    const { price, dq } = shown
    const what = { kind: 'purchase', catalog_item_id: item.id, arguments: { city: 'Oslo' }, price, dq }
    const made = await world.call('POST', '/v4/agent/approvals', { token, asked: world.ask('an approval'), body: what })
    const id = made.body?.approval_id
    if (made.status !== 201 || !id) return
    await world.call('GET', '/v4/approvals?status=pending&limit=2', { by: reader })
    const verb = draws.oneIn(6) ? 'reject' : 'approve'
    const body = verb === 'approve' ? { price, dq } : undefined
    await world.call('POST', `/v4/approvals/${id}/${verb}`, { by: reader, asked: world.ask(`${verb} ${id}`), body })
    await world.call('GET', `/v4/agent/approvals/${id}`, { token })
    const buy = async () => {
      const asked = world.ask(`the agent of ${reader.name} buys with approval ${id}`)
      const body = { approval_id: id, arguments: { city: 'Oslo' } }
      const bought = await world.call('POST', `/v4/catalog/items/${item.id}/purchases`, { token, asked, body })
      if (bought.status !== 201) return
      world.records.use(`approval ${id}`, asked.key)
      world.records.pay(bought.body.transaction_id, { payer: reader.name, price, asked }, bought.body.amount ?? price)
    }
    await Promise.all([buy(), ...(draws.oneIn(2) ? [buy()] : [])])
    if (draws.oneIn(2)) await buy()
  },
}

const refresh: Act = {
  weight: 3,
  async run(world, draws) {
    const reader = draws.pick(world.cast.readers)
    const agent = await connectApp(world, reader)
    if (!agent) return
    const call = callAs(world)
    let token = agent.refreshToken
    for (let times = draws.between(1, 3); times > 0; times--) {
      const tokens = await Promise.all([
        refreshOnce(world, agent.app, token),
        ...(draws.oneIn(2) ? [refreshOnce(world, agent.app, token)] : []),
      ])
      const next = tokens.find((each) => each !== undefined)
      if (!next) return
      token = next
    }
    const revoked = await asClient(call, agent.app, 'token/revocation', { token })
    if (revoked.status !== 200) return
    world.records.use(`refresh token ${token}`, 'it was revoked')
    await refreshOnce(world, agent.app, token)
  },
}

let refreshes = 0

/** Returns the next refresh token. */
async function refreshOnce(world: World, app: App, token: string): Promise<string | undefined> {
  const { status, body } = await refreshWith(callAs(world), app, token)
  if (status !== 200) return undefined
  world.records.use(`refresh token ${token}`, `refresh ${++refreshes}`)
  return body.refresh_token
}

export const agentActs = { buyAsAgent, refresh }
