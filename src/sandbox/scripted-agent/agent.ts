import type {
  CallToolResult,
  Client,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { parsedJson } from '../../base/json.js'
import { LimitedMap } from '../../base/memo.js'
import type { ShownApproval } from '../../consent/approvals/approval.js'
import { ApprovalShape } from '../../http/fields/schema.js'
import { isObject } from '../../storage/unknown.js'
import type { People, Person, Stage } from './person.js'

export interface AgentOptions extends Person {
  /** Name of the app. Default: `Scripted agent`. */
  readonly name?: string | undefined
  /** Id of the account whose own server it connects to. Default: the master server. */
  readonly server?: number | undefined
  /** `2026-07-28` without a handshake, or `2025-11-25` with one. Default: `2026-07-28`. */
  readonly protocol?: '2026-07-28' | '2025-11-25' | undefined
  /** How the user answers requests of the server in place. Default: the agent does not support them. */
  readonly inPlace?: 'approve' | 'reject' | undefined
}

/** An item that an agent buys. */
export interface Order {
  readonly catalog_item_id: number
  readonly arguments?: Readonly<Record<string, unknown>> | undefined
}

/**
 * What tests ask of the official MCP client. It has more: `agent.client as Client`, with the type from
 * `@modelcontextprotocol/client`. That package's types need `@types/node`, so those of this one do not import them.
 */
export interface McpClient {
  listTools(params?: { cursor?: string }): Promise<{ tools: McpTool[]; nextCursor?: string | undefined }>
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<McpResult>
  listResources(params?: { cursor?: string }): Promise<{ resources: McpNamed[]; nextCursor?: string | undefined }>
  readResource(params: { uri: string }): Promise<{ contents: ({ uri: string } & McpContent)[] }>
  listPrompts(params?: { cursor?: string }): Promise<{ prompts: McpNamed[]; nextCursor?: string | undefined }>
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<{
    messages: { role: 'user' | 'assistant'; content: McpContent }[]
  }>
  /** What the server tells agents about itself. */
  getInstructions(): string | undefined
  getServerVersion(): { name: string; version: string } | undefined
  close(): Promise<void>
}

export interface McpNamed {
  name: string
  title?: string | undefined
  description?: string | undefined
}

export interface McpTool extends McpNamed {
  /** JSON Schema of the arguments. */
  inputSchema: Record<string, unknown>
}

export interface McpResult {
  content: McpContent[]
  structuredContent?: unknown
  isError?: boolean | undefined
}

/** Text has `text`. */
export interface McpContent {
  type?: string
  text?: string
  mimeType?: string | undefined
}

/** An app that a user has connected, controlled by a test. */
export interface ScriptedAgent {
  /** The official MCP client, connected. */
  readonly client: McpClient
  /** An access token of the agent, for calls of the interface itself. */
  readonly accessToken: string
  /** Calls a tool. Returns its structured content, with `isError` for a refusal. */
  call(tool: string, args?: Readonly<Record<string, unknown>>): Promise<ToolAnswer>
  /** Buys an item, with an approval if one is given. */
  buy(order: Order, approvalId?: string): Promise<ToolAnswer>
  /** Asks the user to approve an order, with the arguments from a refusal. */
  request(order: Order): Promise<ShownApproval>
  /** Attacks. Each returns the answers of all its calls. */
  readonly hostile: {
    /** Gets an approval for one order and uses it with different arguments. */
    alter(order: Order, args: Readonly<Record<string, unknown>>): Promise<ToolAnswer[]>
    /** Uses one approval many times at once. Default: 20. */
    duplicate(order: Order, times?: number): Promise<ToolAnswer[]>
    /** Uses an approval again after it was spent. */
    replay(order: Order): Promise<ToolAnswer[]>
  }
  /** Closes the connection of the client. */
  close(): Promise<void>
}

export interface ToolAnswer {
  readonly isError: boolean
  readonly [field: string]: unknown
}

const REDIRECT = 'http://127.0.0.1/callback'

/**
 * Connects like any MCP client: discovery, registration, sign-in and consent on the user's pages, PKCE, then the
 * protocol.
 * Throws the sentence of a page or server that refuses.
 */
export async function connectAgent(options: AgentOptions, people: People): Promise<ScriptedAgent> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const { name = 'Scripted agent', server, protocol = '2026-07-28', inPlace } = options
  const { stage } = people
  const url = new URL(`${stage.baseUrl}/mcp${server === undefined ? '' : `/${server}`}`)
  const call = sharingRefreshes((input, init) => stage.fetch(new Request(input, init)))
  const { fetch, refusal } = hearingRefusals(call, url)
  const app = new App(name, (address) => people.authorize(options, { app: name, address }))
  const transport = () => new StreamableHTTPClientTransport(url, { authProvider: app, fetch })
  const client = new Client(
    { name, version: '1.0.0' },
    {
      capabilities: inPlace === undefined ? {} : { elicitation: { url: {} } },
      versionNegotiation: { mode: protocol === '2025-11-25' ? 'legacy' : { pin: protocol } },
    },
  )
  if (inPlace !== undefined) answerInPlace(client, inPlace, stage)
  // The first try is refused and starts the user's pages. Their result is exchanged for tokens.
  const first = transport()
  const tried = client.connect(first).catch(async (error: unknown) => {
    if (!app.answer) throw app.failure ?? error
    await first.finishAuth(app.answer.searchParams)
    await client.connect(transport())
  })
  await tried.catch((cause: unknown) => {
    const said = refusal()
    throw said === undefined ? cause : new Error(said, { cause })
  })
  return driven(client, app, stage.sandbox)
}

function answerInPlace(client: Client, answer: 'approve' | 'reject', { sandbox }: Stage): void {
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    const [id = ''] = /apr_[0-9a-f]{32}/.exec('url' in params ? params.url : '') ?? []
    await sandbox[answer](id)
    return { action: 'accept' }
  })
}

class App implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT
  readonly clientMetadata
  answer: URL | undefined
  failure: unknown
  #client: StoredOAuthClientInformation | undefined
  #tokens: StoredOAuthTokens | undefined
  #verifier = ''
  #discovered: OAuthDiscoveryState | undefined

  constructor(
    name: string,
    readonly authorize: (address: URL) => Promise<URL>,
  ) {
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'openid profile email twin offline_access',
    }
  }

  /**
   * Sends no resource indicator, because a token of the interface also works at its MCP servers, but not the other way
   * round.
   */
  async validateResourceURL(): Promise<undefined> {}

  clientInformation = () => this.#client
  saveClientInformation = (client: StoredOAuthClientInformation): void => void (this.#client = client)
  tokens = () => this.#tokens
  saveTokens = (tokens: StoredOAuthTokens): void => void (this.#tokens = tokens)
  codeVerifier = () => this.#verifier
  saveCodeVerifier = (verifier: string): void => void (this.#verifier = verifier)
  discoveryState = () => this.#discovered
  saveDiscoveryState = (state: OAuthDiscoveryState): void => void (this.#discovered = state)

  async redirectToAuthorization(address: URL): Promise<void> {
    try {
      this.answer = await this.authorize(address)
    } catch (error) {
      this.failure = error
      throw error
    }
  }
}

function driven(client: Client, app: App, sandbox: Stage['sandbox']): ScriptedAgent {
  const call: ScriptedAgent['call'] = async (name, args = {}) => {
    const answer: CallToolResult = await client.callTool({ name, arguments: { ...args } })
    const { isError = false, structuredContent } = answer
    return { ...(isObject(structuredContent) && structuredContent), isError }
  }
  const buy: ScriptedAgent['buy'] = ({ catalog_item_id, arguments: args = {} }, approval_id) =>
    call('agent_checkout', { catalog_item_id, arguments: args, ...(approval_id !== undefined && { approval_id }) })
  const request: ScriptedAgent['request'] = async ({ catalog_item_id, arguments: args = {} }) => {
    const order = { kind: 'purchase', catalog_item_id, arguments: args }
    const { isError, ...approval } = await call('request_approval', order)
    if (isError) throw new Error(`The request for approval was refused: ${String(approval.error)}`)
    return ApprovalShape.parse(approval)
  }
  const approved = async (order: Order): Promise<string> => {
    const { approval_id } = await request(order)
    await sandbox.approve(approval_id)
    return approval_id
  }
  return {
    client,
    get accessToken() {
      return app.tokens()?.access_token ?? ''
    },
    ...{ call, buy, request },
    hostile: {
      alter: async (order, args) => [await buy({ ...order, arguments: args }, await approved(order))],
      async duplicate(order, times = 20) {
        const id = await approved(order)
        return Promise.all(Array.from({ length: times }, () => buy(order, id)))
      },
      async replay(order) {
        const id = await approved(order)
        return [await buy(order, id), await buy(order, id)]
      },
    },
    close: () => client.close(),
  }
}

type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>
/** How many refreshes it remembers. A later call with the same token is refused by the server. */
const MOST_REFRESHES = 100

/** Shares refreshes. A refresh token works once, so calls that need it at the same time share the new tokens. */
export function sharingRefreshes(fetch: Fetch): Fetch {
  const shared = new LimitedMap<string, Promise<Response>>(MOST_REFRESHES)
  return async (input, init) => {
    const form = init?.body instanceof URLSearchParams ? init.body : undefined
    const token = form?.get('grant_type') === 'refresh_token' ? form.get('refresh_token') : null
    if (token === null || token === undefined) return fetch(input, init)
    const answer = shared.get(token) ?? fetch(input, init)
    shared.set(token, answer)
    // A failed refresh may be tried again.
    const isOver = () => shared.delete(token)
    void answer.then(({ ok }) => ok || isOver(), isOver)
    return (await answer).clone()
  }
}

/** Returns a `fetch` that remembers the last refusal of a server, except for a missing token. */
export function hearingRefusals(fetch: Fetch, { pathname }: URL): { fetch: Fetch; refusal(): string | undefined } {
  let heard: string | undefined
  return {
    async fetch(input, init) {
      const answer = await fetch(input, init)
      if (new URL(input).pathname === pathname && answer.status >= 400 && answer.status !== 401)
        heard = `${pathname} answered ${answer.status}: ${await sentenceOf(answer.clone())}`
      return answer
    },
    refusal: () => heard,
  }
}

async function sentenceOf(answer: Response): Promise<string> {
  const text = await answer.text()
  const answered = parsedJson(text)
  return isObject(answered) && typeof answered.error === 'string' ? answered.error : text
}
