import { partKey } from '../../base/parts.js'

/** Answers the messages of MCP clients. */
export const mcp = partKey<typeof import('./offer.js')>('mcp')
