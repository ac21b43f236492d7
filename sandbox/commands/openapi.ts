import { loadTexts } from '../../src/composition/descriptions.js'
import { features } from '../../src/features.js'
import { openapi as describe, examples } from '../../src/http/openapi/document.js'
import { loadRouteList } from '../../src/routes.js'
import type { Settings } from '../config.js'
import { printText } from '../terminal.js'

/** Prints the OpenAPI document of the service. */
export async function openapi({ port, baseUrl = `http://127.0.0.1:${port}`, evidence }: Settings): Promise<void> {
  const [routes, texts] = await Promise.all([loadRouteList(), loadTexts(features)])
  const document = describe({ routes, baseUrl, evidence, texts, examples })
  printText(`${JSON.stringify(document, null, 2)}\n`)
}
