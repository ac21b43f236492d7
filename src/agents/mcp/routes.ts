import { hopsIn } from '../../base/via.js'
import { designed } from '../../http/fields/graded.js'
import { component, IdPath, PageQuery, pageOf, ToolShape, z } from '../../http/fields/schema.js'
import { noContent, type Reply, reply } from '../../http/reply.js'
import { type Call, defineRoutes, route } from '../../http/route.js'
import { JsonRpcMessageShape } from './message-shape.js'
import { mcpKey } from './part.js'
import { offerTo, protectedResource } from './server.js'
import { createTool, deleteTool, listTools, NewTool, ToolChange, updateTool } from './tools/registry.js'
import { checkVisitor } from './tools/visit.js'

const server = {
  evidence: 'designed',
  method: 'POST',
  auth: ['agent'],
  isResource: true,
  body: JsonRpcMessageShape,
  result: JsonRpcMessageShape,
  isJsonRpc: true,
  produces: ['application/json', 'text/event-stream'],
} as const

type MessageCall = Call<unknown, unknown, z.output<typeof JsonRpcMessageShape>, 'agent'>
type Service = Parameters<typeof offerTo>[0]['service']

const metadata = {
  evidence: 'designed',
  method: 'GET',
  auth: ['none'],
  shareable: true,
  result: component('ProtectedResource', {
    resource: z.string(),
    authorization_servers: z.array(z.string()),
    scopes_supported: z.array(z.string()),
    bearer_methods_supported: z.array(z.string()),
    resource_name: z.string(),
  }),
} as const

const registry = { evidence: 'observed', versions: ['v4'], auth: ['account'] } as const
const Tool = component('ToolAnswer', { tool: designed(ToolShape) })

const refusals = [
  ...['not_found', 'not_owner', 'twin_unknown', 'amount_invalid', 'upstream_refused', 'plan_limit_reached'],
] as const

export const mcpRoutes = defineRoutes('mcp', {
  callMcp: route({
    ...server,
    summary: 'Send a JSON-RPC message of the Model Context Protocol to the master MCP server.',
    evidence: 'observed',
    path: '/mcp',
    errors: ['origin_refused', 'too_many_streams', 'not_bundled'],
    handle: (call, service) => answer(call, service),
  }),
  callAccountMcp: route({
    ...server,
    summary:
      "Send a message to an account's own MCP server. It also sells private items, and its featured items are tools.",
    path: '/mcp/:id',
    params: IdPath,
    errors: ['origin_refused', 'too_many_streams', 'not_bundled'],
    handle: (call, service) => answer(call, service, call.params.id),
  }),
  readProtectedResource: route({
    ...metadata,
    summary: "Read which issuer's tokens the interface accepts (RFC 9728).",
    path: '/.well-known/oauth-protected-resource',
    read: async (_tx, _call, service) => protectedResource(service, ''),
  }),
  readMcpResource: route({
    ...metadata,
    summary: "Read which issuer's tokens the master MCP server accepts.",
    path: '/.well-known/oauth-protected-resource/mcp',
    read: async (_tx, _call, service) => protectedResource(service, '/mcp'),
  }),
  readAccountMcpResource: route({
    ...metadata,
    summary: "Read which issuer's tokens an account's own MCP server accepts.",
    path: '/.well-known/oauth-protected-resource/mcp/:id',
    params: IdPath,
    read: async (_tx, { params }, service) => protectedResource(service, `/mcp/${params.id}`),
  }),
  createTool: route({
    ...registry,
    summary:
      'Register a tool, which is a featured catalog item. `provider` names an account that has no name yet. Otherwise buyers see the name of the account.',
    method: 'POST',
    path: '/mcp/tools',
    body: NewTool,
    status: 201,
    result: Tool,
    errors: [...refusals],
    adds: 'catalog_items',
    idempotent: true,
    write: async (tx, { body, principal }, service) => ({
      tool: await createTool(tx, { ...body, accountId: principal.id, at: service.clock.now() }, service),
    }),
  }),
  listTools: route({
    ...registry,
    summary: "List the account's tools, newest first.",
    method: 'GET',
    path: '/mcp/tools',
    query: PageQuery,
    result: pageOf('tools', ToolShape),
    errors: ['cursor_invalid'],
    wholeList: 'tools',
    read: (tx, { query, principal }) => listTools(tx, principal.id, query),
  }),
  updateTool: route({
    ...registry,
    summary: 'Change a tool, or whether it is active.',
    method: 'PUT',
    path: '/mcp/tools/:id',
    params: IdPath,
    body: ToolChange,
    result: Tool,
    errors: [...refusals],
    write: async (tx, { params, body, principal }, service) => ({
      tool: await updateTool(tx, { ...body, id: params.id, accountId: principal.id, at: service.clock.now() }, service),
    }),
  }),
  deleteTool: route({
    ...registry,
    summary: 'Delete a tool. Its item is archived and can be restored.',
    method: 'DELETE',
    path: '/mcp/tools/:id',
    params: IdPath,
    status: 204,
    errors: ['not_found'],
    async write(tx, { params, principal }, { clock }) {
      await deleteTool(tx, { id: params.id, accountId: principal.id, at: clock.now() })
      return noContent()
    },
  }),
})

async function answer(call: MessageCall, service: Service, within?: number): Promise<Reply> {
  const { principal: agent, url, headers, body, ending, isAuthenticated } = call
  const visitor = { agent, within, origin: headers.get('origin') }
  await service.storage.read((tx) => checkVisitor(tx, visitor, service.baseUrl))
  const { answerMessage } = await service.options.parts.load(mcpKey)
  const sessionId = headers.get('mcp-session-id')
  const offer = offerTo({ agent, within, hops: hopsIn(headers), sessionId, service, isAuthenticated })
  return reply(await answerMessage(offer, { url, headers, body, ending }, service.log))
}
