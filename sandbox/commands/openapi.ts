import { texts } from '../../src/composition/descriptions.js'
import { openapi as describe } from '../../src/http/openapi/document.js'
import { examples } from '../../src/http/openapi/examples.js'
import { routeList } from '../../src/routes.js'
import type { Settings } from '../config.js'
import { printText } from '../terminal.js'

/** Prints the OpenAPI document of the service. */
export function openapi({ port, baseUrl = `http://127.0.0.1:${port}`, evidence }: Settings): void {
  const document = describe({ routes: routeList, baseUrl, evidence, texts, examples })
  printText(`${JSON.stringify(document, null, 2)}\n`)
}
