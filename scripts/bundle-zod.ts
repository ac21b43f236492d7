import { createRequire } from 'node:module'

/**
 * A plugin for Rolldown. It bundles the parts of zod that the service uses. Loaded as a package, zod reads its messages in
 * fifty languages at each start. Declarations still name the package.
 */
export function bundleZod() {
  return {
    name: 'bundle-zod',
    resolveId: {
      order: 'pre' as const,
      handler(source: string, importer: string | undefined): string | undefined {
        if (source !== 'zod/mini' || /\.d\.ts$/.test(importer ?? '')) return undefined
        return createRequire(import.meta.url)
          .resolve('zod/mini')
          .replace(/\.cjs$/, '.js')
      },
    },
  }
}
