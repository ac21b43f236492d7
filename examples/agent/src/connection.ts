import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'

/** Shows the user a page: where they sign in, and where they approve a purchase. */
export type OpenPage = (url: string) => void | Promise<void>

/**
 * Connects to an MCP server as an app of its user. Discovery, registration and tokens are the work of the MCP client.
 * The user signs in on a page and comes back to an address of this machine.
 */
export async function connect(server: string, openPage: OpenPage): Promise<Client> {
  const state = crypto.randomUUID()
  const comesBack = await listenForUser(state)
  const app = new App(comesBack.address, state, openPage)
  // With this capability, the server asks the user in the middle of a call, instead of refusing it.
  const client = new Client(
    { name: 'errand-runner', version: '1.0.0' },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    if (!('url' in params)) return { action: 'decline' }
    await openPage(params.url)
    return { action: 'accept' }
  })
  const newTransport = () => new StreamableHTTPClientTransport(new URL(server), { authProvider: app })
  try {
    const first = newTransport()
    await client.connect(first).catch(async (error: unknown) => {
      if (!(error instanceof UnauthorizedError)) throw error
      await first.finishAuth(await comesBack.answer)
      await client.connect(newTransport())
    })
    return client
  } finally {
    comesBack.close()
  }
}

/** Keeps what the app is known by. A real app stores the client and its tokens, each for the issuer that the context names. */
class App implements OAuthClientProvider {
  readonly clientMetadata
  #client: OAuthClientInformationMixed | undefined
  #tokens: OAuthTokens | undefined
  #discovered: OAuthDiscoveryState | undefined
  #verifier = ''

  constructor(
    readonly redirectUrl: string,
    readonly expectedState: string,
    readonly openPage: OpenPage,
  ) {
    this.clientMetadata = {
      client_name: 'Errand Runner',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'openid profile email twin offline_access',
    }
  }

  state = () => this.expectedState
  clientInformation = () => this.#client
  saveClientInformation = (client: OAuthClientInformationMixed) => {
    this.#client = client
  }
  tokens = () => this.#tokens
  saveTokens = (tokens: OAuthTokens) => {
    this.#tokens = tokens
  }
  discoveryState = () => this.#discovered
  saveDiscoveryState = (state: OAuthDiscoveryState) => {
    this.#discovered = state
  }
  codeVerifier = () => this.#verifier
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier
  }
  redirectToAuthorization = (address: URL) => this.openPage(address.href)
}

/** Listens on this machine until the user comes back from signing in. Ignores whoever does not know the state. */
async function listenForUser(state: string) {
  const server = createServer()
  const answer = new Promise<URLSearchParams>((resolve) => {
    server.on('request', ({ url = '' }, response) => {
      const { searchParams } = new URL(url, 'http://127.0.0.1')
      const isOurs = searchParams.get('state') === state
      response.writeHead(isOurs ? 200 : 404).end(isOurs ? 'You can close this page.' : '')
      if (isOurs) resolve(searchParams)
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${port}/callback`, answer, close: () => server.close() }
}
