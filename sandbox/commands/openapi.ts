import { openapi as describe } from '../../src/http/routing/openapi.js'
import { routeList } from '../../src/routes.js'
import type { Settings } from '../config.js'

/** Prints the OpenAPI document of the service. */
export function openapi({ baseUrl, port }: Settings): void {
  const document = describe(routeList, baseUrl ?? `http://127.0.0.1:${port}`)
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
}
