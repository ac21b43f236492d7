import { Credential } from 'mppx'
import type { Service } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { messageIn, modern, send } from '../../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../../support/mcp/mcp-shop.js'
import { newItem } from '../../support/scenes/catalog.js'
import { payChallenge } from '../../support/scenes/mpp.js'
import { fundAddress, newAccount, newWallet, paymentOf, USDC_DQ } from '../../support/scenes/x402.js'

/** Agents that pay for a tool of an MCP server, in the call itself. */

type Account = Awaited<ReturnType<typeof newWallet>>
type CallTool = (meta: object) => Promise<any>
type Payment = (account: Account, unpaid: any, name: string) => Promise<object>

/** A shop with a tool for 0.01 USDC, and an account that can pay for it. */
export async function newToolShop() {
  const shop = await newMcpShop()
  const { call, seller, item } = shop
  await fundAddress(call, newAccount().address, 1)
  const { external_endpoint } = (await call('GET', `/v4/catalog/items/${item.id}`, { token: seller.token })).body
  await newItem(call, seller, { name: 'Paid weather', price: 0.01, dq: USDC_DQ, featured: true, external_endpoint })
  return { ...shop, account: await newWallet(call, 1) }
}

const DECLARED = { experimental: { payment: { methods: { evm: { intents: ['charge'] } } } } }

/** What calls the tool of a fork. Throws if no answer tells whether it worked. */
function toolOf({ agent, own }: McpShop, fork: Service, capabilities: object): CallTool {
  const call = caller({ url: 'http://localhost', fetch: fork.fetch })
  let ids = 0
  return async (meta) => {
    const { message, headers } = modern(
      'tools/call',
      { name: 'paid_weather', arguments: { city: 'Oslo' } },
      capabilities,
    )
    const params = { ...message.params, _meta: { ...message.params._meta, ...meta } }
    const answer = await send(call, { ...message, id: ++ids, params }, { path: own, token: agent.token, headers })
    if (answer.status !== 200) throw new Error(`status ${answer.status}`)
    return messageIn(answer)
  }
}

async function tries<T>(run: () => Promise<T | undefined>): Promise<T> {
  for (let left = 5; left > 0; left--) {
    const value = await run().catch(() => undefined)
    if (value !== undefined) return value
  }
  throw new Error('It failed five times.')
}

const storyIn = ({ result }: any): string | undefined => result?.structuredContent?.response?.body

const byX402: Payment = async (account, { result }, id) => {
  const [{ payTo, amount, asset, extra }] = result.structuredContent.accepts
  const extensions = { 'payment-identifier': { info: { required: false, id }, schema: {} } }
  const { paymentPayload } = await paymentOf(account, { payTo, amount, asset, ...extra, extensions })
  return { 'x402/payment': paymentPayload }
}

const byMpp: Payment = async (account, { error }) => {
  const { authorization } = await payChallenge(account, error.data.challenges[0])
  return { 'org.paymentauth/credential': Credential.deserialize(authorization) }
}

type ToolBuyer = (shop: Awaited<ReturnType<typeof newToolShop>>) => (fork: Service) => Promise<unknown>

const X402 = { 'x402/version': 2 }
let names = 0
const newName = () => `order_${String(++names).padStart(16, '0')}`

/** Signs anew for each try. */
const signingAnew =
  (pay: Payment, asking: object, capabilities = {}): ToolBuyer =>
  (shop) =>
  (fork) => {
    const callTool = toolOf(shop, fork, capabilities)
    return tries(async () => storyIn(await callTool(await pay(shop.account, await callTool(asking), newName()))))
  }

export const toolBuyers = {
  'by x402, signed anew for each try': signingAnew(byX402, X402),
  'by MPP, signed anew for each try': signingAnew(byMpp, {}, DECLARED),
  'by x402, with one payment for all tries': (shop) => async (fork) => {
    const callTool = toolOf(shop, fork, {})
    const unpaid = await tries(() => callTool(X402))
    const payment = await byX402(shop.account, unpaid, newName())
    return tries(async () => storyIn(await callTool(payment)))
  },
} satisfies Readonly<Record<string, ToolBuyer>>
