import { partKey } from '../../base/parts.js'

/** The MCP server for coding agents, with the search of the documentation. */
export const toolsKey = partKey<typeof import('./tool-server.js')>('tools')
