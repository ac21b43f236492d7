import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

/** Ends the names of the modules of zod that the MCP SDK uses. */
const SUFFIX = '?of-mcp-sdk'

/**
 * A plugin for Rolldown. It gives the MCP SDK a zod of its own. The SDK uses far more of zod than the service does, and in
 * one module for both, every start would load that too.
 */
export function zodOfMcpSdk() {
  return {
    name: 'zod-of-mcp-sdk',
    resolveId(source: string, importer = '') {
      if (importer.endsWith(SUFFIX)) return ofSdk(resolve(importer, '..', source))
      if (!source.startsWith('zod') || !/[\\/]@modelcontextprotocol[\\/]/.test(importer)) return undefined
      return ofSdk(
        createRequire(importer)
          .resolve(source)
          .replace(/\.cjs$/, '.js'),
      )
    },
    load(id: string) {
      if (!id.endsWith(SUFFIX)) return undefined
      return { code: readFileSync(id.slice(0, -SUFFIX.length), 'utf8'), moduleType: 'js' as const }
    },
  }
}

const ofSdk = (path: string) => ({ id: path + SUFFIX, moduleSideEffects: false })
