import { type Reply, reply } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import { toolsKey } from './part.js'
import { control, JsonRpcMessageShape } from './shapes.js'

export const toolRoutes = defineRoutes('sandbox', {
  callSandboxMcp: route({
    ...control('POST', '/_sandbox/mcp'),
    summary: 'Send a JSON-RPC message of the Model Context Protocol to the MCP server for coding agents.',
    body: JsonRpcMessageShape,
    result: JsonRpcMessageShape,
    isJsonRpc: true,
    errors: ['not_bundled'],
    produces: ['application/json', 'text/event-stream'],
    async handle({ url, headers, body, ending }, service): Promise<Reply> {
      const { answerToolMessage } = await service.options.parts.load(toolsKey)
      return reply(await answerToolMessage({ url, headers, body, ending }, service))
    },
  }),
})
