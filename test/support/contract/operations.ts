import { routeList } from '../../../scripts/route-table.js'
import type { Evidence } from '../../../src/base/evidence.js'
import { evidenceOf, type Route, type Version } from '../../../src/http/route.js'

/** A route under one of its versions. */
export interface Operation {
  route: Route
  version: Version | undefined
  /** With the version, as the table writes it. */
  path: string
  /** The path with an unknown value for each parameter. */
  absent: string
  evidence: Evidence
}

export const operations: readonly Operation[] = routeList.flatMap((route) =>
  (route.versions ?? [undefined]).map((version) => {
    const path = version ? `/${version}${route.path}` : route.path
    return {
      route,
      version,
      path,
      absent: path.replace(':hostname', 'absent.twin.localhost').replace(/:\w+/g, '999999'),
      evidence: evidenceOf(route, version),
    }
  }),
)
