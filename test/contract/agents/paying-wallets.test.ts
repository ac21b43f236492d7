import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { connect } from '../../support/mcp/mcp.js'
import { type AgentShop, answerApproval, heldBy, newAgentShop } from '../../support/scenes/approvals.js'
import { newAgent, newApp } from '../../support/scenes/oidc.js'
import { newDelegate, newPersona } from '../../support/scenes/personas.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { balanceOf, newCommodity, newPayer } from '../../support/scenes/world.js'

/** The table of docs/guides/agents-over-mcp.md, "Which wallet pays": for each operation by which an agent spends. */

const upstream = useUpstream()
const OSLO = { arguments: { city: 'Oslo' } }

interface Spending {
  /** Of HTTP, or the tool of MCP. */
  readonly operation: string
  /** Where it is posted to. Tools have no place. */
  readonly path?: (shop: AgentShop) => string | Promise<string>
  readonly order?: (shop: AgentShop) => object | Promise<object>
  /** What the agent twin and the user's own wallet hold afterwards, of 10 each. */
  readonly left: readonly [agentTwin: number, ownWallet: number]
}

async function filledCart({ call, agent, item }: AgentShop): Promise<number> {
  const { id } = (await call('POST', '/v4/carts', agent)).body
  await call('POST', `/v4/carts/${id}/items`, { ...agent, body: { catalog_item_id: item.id, ...OSLO } })
  return id
}

const spendings: readonly Spending[] = [
  {
    operation: 'createPurchase',
    path: ({ item }) => `/v4/catalog/items/${item.id}/purchases`,
    order: () => OSLO,
    left: [9.75, 10],
  },
  {
    operation: 'agent_checkout',
    order: ({ item }) => ({ catalog_item_id: item.id, ...OSLO }),
    left: [9.75, 10],
  },
  { operation: 'payCart', path: async (shop) => `/v4/carts/${await filledCart(shop)}/pay`, left: [9.75, 10] },
  { operation: 'cart_pay', order: async (shop) => ({ cart_id: await filledCart(shop) }), left: [9.75, 10] },
  {
    operation: 'callPaywall',
    path: () => '/v4/paywall',
    order: ({ item }) => ({ amount: 0.5, destination: item.hostname }),
    left: [9.5, 10],
  },
  {
    operation: 'createTransfer',
    path: () => '/v4/transfer',
    order: ({ item }) => ({ amount: 2, address: item.hostname }),
    left: [10, 8],
  },
  { operation: 'transfer_to_agent', order: () => ({ amount: 2 }), left: [12, 8] },
]

contract('Which wallet pays for an agent:', (start) => {
  it.each(spendings)('$operation leaves $left', async ({ operation, path, order = () => ({}), left }) => {
    const shop = await newAgentShop(start, { external_endpoint: `${upstream.url}/ok` })
    const { call, agent, payer } = shop
    const mcp = await connect(shop, { token: agent.token, era: '2026-07-28' })
    const [place, wish] = [await path?.(shop), await order(shop)]
    const spend = async (approved: object): Promise<any> => {
      const body = { ...wish, ...approved }
      if (place !== undefined) return (await call('POST', place, { ...agent, body })).body
      return (await mcp.callTool({ name: operation, arguments: body })).structuredContent
    }
    const { code, approval_id } = await spend({})
    expect(code).toBe('approval_required')
    expect((await answerApproval(call, payer, approval_id)).status).toBe(200)
    expect(await heldBy(call, shop)).toEqual([10, 10])
    expect(await spend({ approval_id })).not.toHaveProperty('code')
    expect(await heldBy(call, shop)).toEqual(left)
    await mcp.close()
  })

  it('createPayment pays by a persona_delegate, from the twin of the persona', async () => {
    const shop = await newAgentShop(start)
    const { call, seller, payer } = shop
    const owner = await newPayer(call, seller, { balance: 5 })
    const persona = await newPersona(call, owner)
    const app = await newApp(call)
    const { hash, dq } = await newCommodity(call, seller, { cost: 0.25 })
    const spend = { party: { client_id: app.id }, dq, limit: 1 }
    const delegate = { persona: persona.hash, hostname: payer.hostname, spend }
    const persona_delegate = (await newDelegate(call, owner, delegate)).hash
    const { accessToken: token } = await newAgent(call, { app, email: payer.email })
    const paid = await call('POST', `/v4/payment/${hash}`, { token, body: { persona_delegate } })
    expect([paid.status, paid.body.hostname]).toEqual([202, owner.hostname])
    expect(await balanceOf(call, owner.token, owner.hostname)).toBe(4.75)
    expect(await heldBy(call, shop)).toEqual([10, 10])
  })
})
