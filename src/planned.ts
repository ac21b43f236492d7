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
  ['createAccountChoice', 'POST', '/agent/account-choice'],
  ['createApproval', 'POST', '/agent/approvals'],
  ['readApproval', 'GET', '/agent/approvals/:id'],
  ['applyAccountChange', 'POST', '/agent/account-changes', 'documented'],
  ['readAgentSettings', 'GET', '/agent/settings'],
  ['updateAgentSettings', 'PUT', '/agent/settings'],
  ['listApprovals', 'GET', '/approvals'],
  ['approveApproval', 'POST', '/approvals/:id/approve'],
  ['rejectApproval', 'POST', '/approvals/:id/reject'],

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
