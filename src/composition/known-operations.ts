import type { KnownOperation } from '../http/context.js'
import { evidenceOf } from '../http/route.js'
import { routeList } from '../routes.js'

/** Every operation, in the order of the documentation. */
export const knownOperations: readonly KnownOperation[] = routeList.map((route) => ({
  id: route.id,
  method: route.method,
  path: route.path,
  isControl: route.scope === 'sandbox',
  versions: (route.versions ?? [undefined]).map((version) => ({ version, evidence: evidenceOf(route, version) })),
}))
