import { evidenceOf, type Route } from '../../http/route.js'
import type { KnownOperation } from './context.js'

/** What coverage and faults know of a route. */
export const knownOperation = (route: Route): KnownOperation => ({
  id: route.id,
  method: route.method,
  path: route.path,
  isControl: route.scope === 'sandbox',
  versions: (route.versions ?? [undefined]).map((version) => ({ version, evidence: evidenceOf(route, version) })),
})
