import { ITEM_LIMITS, type TextsOf, WHOLE_LIST_LIMIT } from '../../http/openapi/texts.js'
import type { mcpRoutes } from './routes.js'

export const mcpTexts: TextsOf<typeof mcpRoutes> = {
  operations: {
    callMcp:
      'For an agent. The server keeps no state between calls. `Accept` chooses JSON or an event stream. Tools that pay need an approval of the user.',
    callAccountMcp: 'For an agent. It works like the master server.',
    readProtectedResource: 'Anybody may call this.',
    readMcpResource: 'Anybody may call this.',
    readAccountMcpResource: 'Anybody may call this.',
    createTool: `For the access token of an account. Send an \`Idempotency-Key\`, so that a retry does not create a second tool. ${ITEM_LIMITS}`,
    listTools: 'For the access token of an account.',
    updateTool: 'For the account of the tool. Omitted fields stay unchanged.',
    deleteTool: 'For the account of the tool. A retry gets `not_found`.',
  },
  fields: {
    'listTools.limit': WHOLE_LIST_LIMIT,
    id: 'The id of the tool.',
    'callAccountMcp.id': 'The id of the account.',
    'readAccountMcpResource.id': 'The id of the account.',
    provider: 'The name of the seller.',
    external_twin_hostname: 'The hostname of the twin that sells it, in place of `twin_id`.',
    input_schema: 'The JSON Schema of the arguments.',
    price_per_call: 'The price of a call, in the digital quantity.',
    service_url: 'The URL that farthing calls.',
    twin_id: 'The id of the twin that sells it.',
    tools: 'The tools, newest first.',
    active: 'Whether the tool can be called now.',
    name: 'The name of the tool, of 1 to 64 characters.',
    description: 'What the tool does, in up to 1,024 characters.',
  },
  components: {
    JsonRpcMessage: {
      is: 'A message of JSON-RPC 2.0: a request, a notification or an answer.',
      jsonrpc: 'The version of JSON-RPC.',
      id: 'The id of the request. Absent in a notification.',
      method: 'The method of a request, such as `tools/call`.',
      params: 'The parameters of the method.',
      result: 'What a request returned.',
      error: 'Why a request failed.',
    },
    ProtectedResource: {
      is: 'Metadata of a protected resource (RFC 9728).',
      resource: 'The URL of the resource.',
      authorization_servers: 'The issuers whose tokens it accepts.',
      scopes_supported: 'The scopes that it knows.',
      bearer_methods_supported: 'How it accepts tokens.',
      resource_name: 'Its name for people.',
    },
    Tool: {
      is: 'A featured catalog item, as a tool for agents.',
      twin_hostname: 'The hostname of the twin that sells it.',
    },
    ToolAnswer: { is: 'One tool.', tool: 'The tool.' },
  },
}
