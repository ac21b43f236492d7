import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * Playwright keeps the titles of its calls in an AsyncLocalStorage. Before Node 24, one that was used makes each promise of
 * its process slower until it is disabled, and tests make millions. The next call of Playwright enables it again.
 */
export function quickenPromises(): void {
  // Only where it is loaded: that takes longer than most files.
  const loaded = require.cache[require.resolve('playwright-core/lib/coreBundle')]
  loaded?.exports.utils.emptyZone._asyncLocalStorage.disable()
}
