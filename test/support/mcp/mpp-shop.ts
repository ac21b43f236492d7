import { Credential } from 'mppx'
import { newItem } from '../scenes/catalog.js'
import { payChallenge } from '../scenes/mpp.js'
import { fundAddress, newAccount, type newWallet, USDC_DQ } from '../scenes/x402.js'
import { messageIn, modern, send } from './mcp.js'
import { newMcpShop } from './mcp-shop.js'

export const OSLO = { city: 'Oslo' }
/** What a client of MCP says that pays by MPP. */
export const DECLARED = { experimental: { payment: { methods: { evm: { intents: ['charge'] } } } } }

/** A shop that sells two tools for 0.01 USDC, and what calls them. */
export async function newMppShop() {
  const shop = await newMcpShop()
  const { call, seller, agent, item } = shop
  await fundAddress(call, newAccount().address, 1)
  const endpoint = (await call('GET', `/v4/catalog/items/${item.id}`, { token: seller.token })).body.external_endpoint
  const sold = { price: 0.01, dq: USDC_DQ, featured: true, external_endpoint: endpoint }
  const paid = await newItem(call, seller, { name: 'Paid weather', ...sold })
  await newItem(call, seller, { name: 'Other weather', ...sold })
  const callTool = async (
    meta: object = {},
    args: object = OSLO,
    name = 'paid_weather',
    capabilities: object = DECLARED,
  ) => {
    const { message, headers } = modern('tools/call', { name, arguments: args }, capabilities)
    const sent = { ...message, params: { ...message.params, _meta: { ...message.params._meta, ...meta } } }
    return messageIn(await send(call, sent, { path: shop.own, token: agent.token, headers }))
  }
  return { shop, callTool, paid }
}

type Account = Awaited<ReturnType<typeof newWallet>>

export async function paying(account: Account, { error }: any, change: (credential: any) => void = () => {}) {
  const { authorization } = await payChallenge(account, error.data.challenges[0])
  const credential: any = Credential.deserialize(authorization)
  change(credential)
  return { 'org.paymentauth/credential': credential }
}
