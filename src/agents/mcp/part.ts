import { partKey } from '../../base/parts.js'

/** Answers the messages of MCP clients. */
export const mcpKey = partKey<typeof import('./offer.js')>('mcp')
