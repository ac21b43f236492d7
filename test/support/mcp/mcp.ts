import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Answer, Call, CallOptions } from '../api.js'

/** Steps of agents at MCP servers, message by message and by the official client. */

export const ACCEPT = { accept: 'application/json, text/event-stream' }

/** A JSON-RPC message by POST, as a command-line agent sends it. */
export const send = (
  call: Call,
  message: object,
  { path = '/mcp', ...options }: CallOptions & { path?: string } = {},
): Promise<Answer> =>
  call('POST', path, { ...options, headers: { ...ACCEPT, ...options.headers }, body: { jsonrpc: '2.0', ...message } })

/** The message that an answer holds, as JSON or as the one event of a stream. */
export function messageIn({ text, body }: Pick<Answer, 'text' | 'body'>): any {
  if (body !== undefined) return body
  const [, data = ''] = /^data: (.*)$/m.exec(text) ?? []
  return JSON.parse(data)
}

export const CLIENT = { name: 'errand-runner', version: '1.0.0' }

/** What each request of the era from 2026-07-28 on says of its client. */
export const envelope = (capabilities: object = {}) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
})

/** A request of that era: headers and message. */
export const modern = (method: string, params: Record<string, unknown> = {}, capabilities: object = {}) => ({
  headers: {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
  },
  message: { id: 1, method, params: { ...params, _meta: envelope(capabilities) } },
})

export type Era = '2025-11-25' | '2026-07-28'

/** The official client, connected. `elicit` answers its elicitations. */
export async function connect(
  { url, fetch }: { url: string; fetch(request: Request): Promise<Response> },
  {
    path = '/mcp',
    token,
    era,
    elicit,
    capabilities = {},
    headers = {},
  }: {
    path?: string
    token: string
    era: Era
    headers?: Record<string, string>
    capabilities?: object
    elicit?: (params: any) => Promise<{ action: 'accept' | 'decline' }>
  },
): Promise<Client> {
  const client = new Client(CLIENT, {
    capabilities: { ...capabilities, ...(elicit && { elicitation: { url: {} } }) },
    ...(era === '2026-07-28' && { versionNegotiation: { mode: { pin: era } } }),
  })
  if (elicit) client.setRequestHandler('elicitation/create', ({ params }) => elicit(params))
  const transport = new StreamableHTTPClientTransport(new URL(url + path), {
    fetch: (address, init) => fetch(new Request(address, init)),
    requestInit: { headers: { ...headers, authorization: `Bearer ${token}` } },
  })
  await client.connect(transport)
  return client
}

/** Calls a tool, which must do it. */
export async function done(client: Client, name: string, args: Record<string, unknown> = {}): Promise<any> {
  const result = await client.callTool({ name, arguments: args })
  if (result.isError) throw new Error(JSON.stringify(result.structuredContent))
  return result.structuredContent
}

/** Calls a tool, which must refuse. */
export async function refused(client: Client, name: string, args: Record<string, unknown> = {}): Promise<any> {
  const result = await client.callTool({ name, arguments: args })
  if (!result.isError) throw new Error(`${name} was not refused: ${JSON.stringify(result.structuredContent)}`)
  return result.structuredContent
}
