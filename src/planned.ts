import type { Evidence } from './evidence.js'
import { type Route, route, type Version } from './http/route.js'
import { problem } from './problem.js'

type Planned = readonly [
  id: string,
  method: Route['method'],
  path: `/${string}`,
  evidence?: Evidence,
  ...versions: Version[],
]

/** Operations that are part of the interface and not built yet: they answer 501, never a bare 404. */
const planned: readonly Planned[] = [
  ['createTool', 'POST', '/mcp/tools', 'observed'],
  ['listTools', 'GET', '/mcp/tools', 'observed'],
  ['updateTool', 'PUT', '/mcp/tools/:id', 'observed'],
  ['deleteTool', 'DELETE', '/mcp/tools/:id', 'observed'],
]

export default planned.map(([id, method, path, evidence = 'designed', ...versions]) =>
  route({
    id,
    summary: 'Part of the interface, and not built yet.',
    evidence,
    method,
    path,
    versions: versions.length > 0 ? versions : ['v4'],
    auth: ['none'],
    tag: 'planned',
    status: 501,
    errors: ['not_built'],
    handle: async () => {
      throw problem('not_built')
    },
  }),
)
