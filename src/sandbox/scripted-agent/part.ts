import { partKey } from '../../base/parts.js'

/** The MCP client of scripted agents. */
export const scriptedAgentsKey = partKey<typeof import('./agent.js')>('scriptedAgents')
