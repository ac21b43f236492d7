import { partKey } from '../../base/parts.js'

/** The MCP client of scripted agents. */
export const scriptedAgents = partKey<typeof import('./agent.js')>('scriptedAgents')
