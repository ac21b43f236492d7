import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

/** Ends the names of the modules of zod that the MCP SDK uses. */
const OF_SDK = '?of-mcp-sdk'

/**
 * A plugin for Rolldown. It bundles the parts of zod that the service uses. Loaded as a package, zod reads its messages in
 * fifty languages at each start. Declarations still name the package. The MCP SDK uses more parts, and gets its own zod:
 * otherwise every start would load these too.
 */
export function bundleZod() {
  return {
    name: 'bundle-zod',
    resolveId: {
      order: 'pre' as const,
      handler(source: string, importer = '') {
        if (/\.d\.ts$/.test(importer)) return undefined
        if (importer.endsWith(OF_SDK)) return ofSdk(resolve(importer, '..', source))
        if (source.startsWith('zod') && /[\\/]@modelcontextprotocol[\\/]/.test(importer)) return ofSdk(moduleOf(source))
        return source === 'zod/mini' ? moduleOf(source) : undefined
      },
    },
    load(id: string) {
      if (!id.endsWith(OF_SDK)) return undefined
      return { code: readFileSync(id.slice(0, -OF_SDK.length), 'utf8'), moduleType: 'js' as const }
    },
  }
}

const moduleOf = (name: string): string =>
  createRequire(import.meta.url)
    .resolve(name)
    .replace(/\.cjs$/, '.js')

const ofSdk = (path: string) => ({ id: path + OF_SDK, moduleSideEffects: false })
