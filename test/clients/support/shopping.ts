import { expect } from 'vitest'
import { type Host, startHost } from '../../support/browser/host.js'
import { UserAgent } from '../../support/browser/user-agent.js'
import { newItem } from '../../support/scenes/catalog.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { startUpstream } from '../../support/scenes/upstream.js'
import { newSeller } from '../../support/scenes/world.js'

/** What an MCP client is used for, whichever it is: it shops at a server over HTTP on loopback. */

const EMAIL = 'ada@example.test'
export const CALLBACK = 'http://127.0.0.1:9753/callback'

/** A client in its own words. */
export interface Shopper {
  listTools(): Promise<{ name: string; inputSchema?: object }[]>
  /** Calls a tool. Returns its structured content, or what the client makes of it. */
  call(name: string, args: Record<string, unknown>): Promise<{ isError: boolean; content: any }>
  close?(): Promise<void>
}

export interface Shop extends Host {
  readonly mcp: string
  /** The browser of the user whose agent the client is. */
  readonly browser: UserAgent
  /** The user connects the client: returns where the browser is sent back to. */
  connect(address: string | URL): Promise<URL>
  /** The same, up to the page that the client shows on this machine. */
  connectLocally(address: string): Promise<void>
  /** A token of a client that was registered and connected by hand, for clients without OAuth of their own. */
  token(): Promise<string>
}

/** A server with one item for sale. */
export async function openShop(): Promise<Shop> {
  const host = await startHost()
  const upstream = await startUpstream()
  await newItem(host.call, await newSeller(host.call), { external_endpoint: `${upstream.url}/ok` })
  const browser = new UserAgent(host)
  const connect = (address: string | URL) => browser.authorize(address, { email: EMAIL })
  return {
    ...host,
    mcp: `${host.url}/mcp`,
    browser,
    connect,
    async connectLocally(address) {
      const back = await connect(address)
      // Some clients open the browser before they listen.
      await expect.poll(() => fetch(back).then(({ status }) => status)).toBe(200)
    },
    token: async () => (await newAgent(host.call, { email: EMAIL })).accessToken,
    async close() {
      await host.close()
      await upstream.close()
    },
  }
}

/** Lists tools, searches, is refused for want of approval, gets the approval, buys once, and sees the receipt. */
export async function goShopping({ url, call, browser }: Shop, shopper: Shopper): Promise<void> {
  const done = async (name: string, args: Record<string, unknown> = {}) => {
    const { isError, content } = await shopper.call(name, args)
    expect(isError, JSON.stringify(content)).toBe(false)
    return content
  }
  const names = (await shopper.listTools()).map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['catalog_search', 'agent_checkout', 'purchase_history']))
  const { hostname } = await done('agent_wallet_info')
  await call('POST', '/_sandbox/fund', { body: { hostname, amount: 10 } })
  const { items } = await done('catalog_search', { query: 'weather', limit: 5 })
  expect(items).toMatchObject([{ name: 'City weather', price: 0.25 }])
  const order = { catalog_item_id: items[0].id, arguments: { city: 'Oslo', hours: 3 } }

  const refused = await shopper.call('agent_checkout', order)
  const { approval_id, url: address } = refused.content
  expect(refused).toMatchObject({ isError: true, content: { code: 'approval_required' } })
  expect(address).toBe(`${url}/approvals/${approval_id}`)
  await approve(browser, address)

  const receipt = await done('agent_checkout', { ...order, approval_id })
  expect(receipt).toMatchObject({ status: 'paid', amount: 0.25, response: { body: '{"story":"The whole story."}' } })
  expect((await shopper.call('agent_checkout', { ...order, approval_id })).content.code).toBe('approval_spent')
  const { transaction_id } = receipt
  expect((await done('purchase_history')).purchases[0]).toMatchObject({ transaction_id, status: 'paid' })
  expect(await done('purchase_history', { transaction_id })).toEqual({ purchases: [receipt], next: null })
  await shopper.close?.()
}

/** The user opens the link of a refusal and approves. */
export async function approve(browser: UserAgent, address: string): Promise<void> {
  await browser.open(address)
  if (browser.asksForEmail) await browser.signIn(EMAIL)
  await browser.press('approve')
  expect(browser.html).toContain('Approved.')
}

/** Reads a result of the protocol: its structured content, which its text repeats. */
export function contentOf({ isError, structuredContent, content }: any): { isError: boolean; content: any } {
  expect(JSON.parse(content[0].text)).toEqual(structuredContent)
  return { isError: isError ?? false, content: structuredContent }
}

/** What clients ask of an app that stores its OAuth credentials, in memory. Several clients share this interface. */
export class AppCredentials {
  readonly redirectUrl = CALLBACK
  readonly clientMetadata = {
    client_name: 'Errand Runner',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: 'openid profile email twin offline_access',
  }
  readonly #stored = new Map<string, any>()
  /** Where the client sent its user. */
  address: URL | undefined

  state = () => 'a state of the app'
  clientInformation = () => this.#stored.get('client')
  saveClientInformation = (client: object) => void this.#stored.set('client', client)
  tokens = () => this.#stored.get('tokens')
  saveTokens = (tokens: object) => void this.#stored.set('tokens', tokens)
  codeVerifier = () => this.#stored.get('verifier')
  saveCodeVerifier = (verifier: string) => void this.#stored.set('verifier', verifier)
  saveAuthorizationServerInformation = (server: object) => void this.#stored.set('server', server)
  authorizationServerInformation = () => this.#stored.get('server')
  saveDiscoveryState = (state: object) => void this.#stored.set('discovery', state)
  discoveryState = () => this.#stored.get('discovery')
  redirectToAuthorization(address: URL): void {
    this.address = address
  }

  /** The parameters with which the user comes back. */
  async comesBack({ connect }: Shop): Promise<URLSearchParams> {
    const back = await connect(this.address as URL)
    expect(back.href.startsWith(CALLBACK)).toBe(true)
    expect(back.searchParams.get('state')).toBe(this.state())
    return back.searchParams
  }
}
