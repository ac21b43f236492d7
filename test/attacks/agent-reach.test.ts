import { expect, it, vi } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { buyerTools, sellerTools } from '../../src/agents/mcp/tools/tools.js'
import { connect } from '../support/mcp/mcp.js'
import { anotherAgent, heldBy, newAgentShop, requestApproval } from '../support/scenes/approvals.js'
import { attacked } from '../support/scenes/attacked.js'
import { addItem, newCart } from '../support/scenes/carts.js'
import { expectProblem } from '../support/scenes/market.js'
import { newAgent } from '../support/scenes/oidc.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { newCommodity, newSession } from '../support/scenes/world.js'

// Each test asks for many pages or calls.
vi.setConfig({ testTimeout: 60_000 })

/** Apps that a user connected, and that take themselves for the user. */

const start = attacked()

/** A user with two agents, and things of the user that no agent may learn. */
async function newVictim() {
  const shop = await newAgentShop(start)
  const { call, seller, payer, item } = shop
  const session = await newSession(call, payer.email)
  const twins = (await call('GET', '/v4/twins', { token: payer.token })).body.twins
  const own = twins.find(({ hostname }: { hostname: string }) => hostname === payer.hostname)
  const { hash: commodity, dq } = await newCommodity(call, seller)
  const persona = await newPersona(call, payer, { twin_id: own.id })
  const bearer = { hostname: payer.hostname, spend: { party: { public_secret: seller.publicSecret }, dq, limit: 9 } }
  const given = await newDelegate(call, payer, { persona: persona.hash, ...bearer })
  const received = await newDelegate(call, seller, { persona: (await newPersona(call, seller)).hash, ...bearer })
  const other = await anotherAgent(call, payer)
  const asked = await requestApproval(call, other, { kind: 'paywall', amount: 1, destination: item.hostname })
  const cart = await newCart(call, { session })
  await addItem(call, { session }, cart, { catalog_item_id: item.id, arguments: { city: 'Hidden City' } })
  const transfer = { address: item.hostname, amount: 1, memo: 'a hidden memo' }
  await call('POST', '/v4/transfer', { token: payer.token, body: transfer })
  const secrets = {
    ...{ session, token: payer.token, clientSecret: payer.clientSecret, twinKey: own.key, otherToken: other.token },
    ...{ given: given.hash, received: received.hash, approval: asked.body.approval_id },
    ...{ argument: 'Hidden City', memo: 'a hidden memo' },
  }
  const places = { persona: persona.hash, twin: own.id, cart, commodity }
  return { ...shop, places, secrets }
}

type Victim = Awaited<ReturnType<typeof newVictim>>
type Try = readonly [method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object]

interface Reach {
  /** What an agent may see or do by the operation. */
  readonly may: string
  /** Calls by which it tries to reach what is its user's only. */
  tries(victim: Victim): readonly Try[]
}

/**
 * Every operation that agents reach. Before you add one, decide what an agent may see or do by it: the agent is not its
 * user, who reads and pays what they like.
 */
const reach: Readonly<Record<string, Reach>> = {
  readAgentAccount: {
    may: 'read the business account that it was granted',
    tries: () => [['GET', '/v4/agent/account']],
  },
  createAccountChoice: {
    may: 'get a link at which the user decides',
    tries: () => [['POST', '/v4/agent/account-choice', {}]],
  },
  createApproval: {
    may: 'ask the user',
    tries: ({ places }) => [['POST', '/v4/agent/approvals', { kind: 'cart', cart_id: places.cart }]],
  },
  readApproval: {
    may: 'read its own requests',
    tries: ({ secrets }) => [['GET', `/v4/agent/approvals/${secrets.approval}`]],
  },
  applyAccountChange: {
    may: 'apply what the user approved for it',
    tries: ({ secrets }) => [['POST', '/v4/agent/account-changes', { approval_id: secrets.approval }]],
  },
  createPayment: {
    may: 'pay by a delegate that names it',
    tries: ({ places, secrets, seller }) =>
      [
        {},
        { persona_delegate: secrets.given },
        { persona_delegate: secrets.given, public_secret: seller.publicSecret },
      ].map((body): Try => ['POST', `/v4/payment/${places.commodity}`, body]),
  },
  createTransfer: {
    may: 'send what the user approved for it',
    tries: ({ item, secrets }) =>
      [{}, { approval_id: secrets.approval }].map(
        (more): Try => ['POST', '/v4/transfer', { address: item.hostname, amount: 1, ...more }],
      ),
  },
  verifyPersona: {
    may: 'read what everybody may',
    tries: ({ places }) => [['GET', `/v4/persona/${places.persona}/verify?twin_id=${places.twin}`]],
  },
  createPurchase: {
    may: "buy from the agents' wallet, up to the user's threshold or with an approval for it",
    tries: ({ item, payer, secrets }) =>
      [{}, { hostname: payer.hostname }, { approval_id: secrets.approval }, { persona_delegate: secrets.given }].map(
        (more): Try => ['POST', `/v4/catalog/items/${item.id}/purchases`, { arguments: { city: 'Oslo' }, ...more }],
      ),
  },
  listPurchases: { may: "read the user's receipts, as the consent page says", tries: () => [['GET', '/v4/purchases']] },
  readPurchase: {
    may: "read the user's receipts with their content, as the consent page says",
    tries: () => [['GET', '/v4/purchases/1']],
  },
  callPaywall: {
    may: "pay from the agents' wallet, up to the user's threshold or with an approval for it",
    tries: ({ item, secrets, seller }) =>
      [
        {},
        { approval_id: secrets.approval },
        { persona_delegate: secrets.given },
        { persona_delegate: secrets.given, public_secret: seller.publicSecret },
      ].map((more): Try => ['POST', '/v4/paywall', { amount: 1, destination: item.hostname, ...more }]),
  },
  createCheckout: {
    may: 'make a link at which someone pays',
    tries: ({ item }) => [['POST', '/v4/checkout', { catalog_item_id: item.id, arguments: { city: 'Oslo' } }]],
  },
  readUserinfo: { may: 'read the claims that the user allowed', tries: () => [['GET', '/v4/oidc/me']] },
  readUserinfoByForm: { may: 'read the claims that the user allowed', tries: () => [['POST', '/v4/oidc/me', {}]] },
  createCart: { may: 'make carts of its own', tries: () => [['POST', '/v4/carts', {}]] },
  readCart: { may: 'read its own carts', tries: ({ places }) => [['GET', `/v4/carts/${places.cart}`]] },
  deleteCart: { may: 'delete its own carts', tries: ({ places }) => [['DELETE', `/v4/carts/${places.cart}`]] },
  addCartItem: {
    may: 'fill its own carts',
    tries: ({ places, item }) => [['POST', `/v4/carts/${places.cart}/items`, { catalog_item_id: item.id }]],
  },
  updateCartItem: {
    may: 'change its own carts',
    tries: ({ places }) => [['PUT', `/v4/carts/${places.cart}/items/1`, { quantity: 2 }]],
  },
  deleteCartItem: {
    may: 'change its own carts',
    tries: ({ places }) => [['DELETE', `/v4/carts/${places.cart}/items/1`]],
  },
  payCart: {
    may: "pay its own carts from the agents' wallet, up to the user's threshold or with an approval for it",
    tries: ({ places }) => [['POST', `/v4/carts/${places.cart}/pay`, {}]],
  },
  callMcp: { may: 'call the tools below', tries: () => [] },
  callAccountMcp: { may: 'call the tools below', tries: () => [] },
}

/** Every tool and what an agent may see or do by it. */
const tools: Readonly<Record<string, string>> = {
  agent_wallet_info: "read the agents' wallet",
  check_wallet_balance: "read the user's balances, as the consent page says",
  fund_primary_wallet: 'read how the user adds funds',
  transfer_to_agent: 'move what the user approved for it',
  catalog_search: 'read what everybody may',
  agent_checkout: "buy from the agents' wallet, up to the user's threshold or with an approval for it",
  guest_checkout: 'make a link at which someone pays',
  purchase_history: "read the user's receipts, as the consent page says",
  request_approval: 'ask the user',
  approval_status: 'read its own requests',
  choose_account: 'get a link at which the user decides',
  cart_add: 'fill its own carts',
  cart_view: 'read its own carts',
  cart_remove: 'change its own carts',
  cart_pay: "pay its own carts from the agents' wallet, up to the user's threshold or with an approval for it",
  twin_status: 'read the balances of the account that it was granted',
  create_twin: 'make an empty wallet for that account',
  list_my_tools: 'read what that account sells',
  test_tool: 'call an endpoint of that account',
  register_tool: 'ask the user to sell something',
  update_tool: 'ask the user to change what is for sale',
  deactivate_tool: 'ask the user to take something out of sale',
  request_account_change: 'ask the user to change that account',
  apply_account_change: 'apply what the user approved for it',
}

it('every operation that agents reach says what an agent may do by it', () => {
  const reached = routeList.filter(({ auth }) => auth.includes('agent')).map(({ id }) => id)
  expect(Object.keys(reach).sort()).toEqual(reached.sort())
})

it('every tool of the MCP servers says what an agent may do by it', () => {
  expect(Object.keys(tools).sort()).toEqual([...buyerTools, ...sellerTools].map(({ name }) => name).sort())
})

/** The things of the user that a text tells an agent which did not know them. */
const told = ({ secrets }: Victim, text: string, sent: string) =>
  Object.entries(secrets).flatMap(([name, secret]) => (text.includes(secret) && !sent.includes(secret) ? [name] : []))

it("an agent that takes itself for its user learns nothing of the user's, and moves nothing", async () => {
  const victim = await newVictim()
  const { call, agent } = victim
  const before = await heldBy(call, victim)
  const leaks: string[] = []
  for (const [id, { tries }] of Object.entries(reach))
    for (const [method, path, body] of tries(victim)) {
      const answer = await call(method, path, { ...agent, ...(body && { body }) })
      expect(answer.status, `${id}: ${answer.text}`).toBeLessThan(500)
      for (const name of told(victim, answer.text, path + JSON.stringify(body ?? {}))) leaks.push(`${id} tells ${name}`)
    }
  expect(leaks).toEqual([])
  expect(await heldBy(call, victim)).toEqual(before)
})

it("no tool or resource of the MCP servers tells an agent what is only its user's", async () => {
  const victim = await newVictim()
  const { agent, places, secrets, url, fetch } = victim
  const before = await heldBy(victim.call, victim)
  const client = await connect({ url, fetch }, { token: agent.token, era: '2025-11-25' })
  const tries = [{}, { cart_id: places.cart }, { approval_id: secrets.approval }, { transaction_id: 1 }]
  const leaks: string[] = []
  for (const name of Object.keys(tools))
    for (const sent of tries) {
      const answer = JSON.stringify(await client.callTool({ name, arguments: sent }).catch(String))
      for (const secret of told(victim, answer, JSON.stringify(sent))) leaks.push(`${name} tells ${secret}`)
    }
  const { resources } = await client.listResources()
  for (const { uri } of resources)
    leaks.push(
      ...told(victim, JSON.stringify(await client.readResource({ uri })), '').map((name) => `${uri} tells ${name}`),
    )
  expect(leaks).toEqual([])
  expect(await heldBy(victim.call, victim)).toEqual(before)
  await client.close()
})

it('an app that knows the hash of a persona does not spend by its bearer delegates', async () => {
  const { call, agent, places, seller, item } = await newVictim()
  const seen = await call('GET', `/v4/persona/${places.persona}/verify?twin_id=${places.twin}`, agent)
  const [persona_delegate] = seen.body.instances
  const order = { amount: 9, destination: item.hostname, persona_delegate, public_secret: seller.publicSecret }
  expectProblem(await call('POST', '/v4/paywall', { body: order }), 403, 'delegate_required')
})

it('the events of what an agent makes name the agent', async () => {
  const victim = await newVictim()
  const { call, payer, item } = victim
  const { app, accessToken: token } = await newAgent(call, { email: payer.email })
  await call('POST', '/v4/checkout', { token, body: { catalog_item_id: item.id, arguments: { city: 'Oslo' } } })
  const [event] = (await call('GET', '/v4/events?type=checkout.created', { token: payer.token })).body.events
  expect(event.actor).toBe(app.id)
})
