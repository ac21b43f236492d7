import { type Evidence, isWeaker } from '../../base/evidence.js'
import { VERSION } from '../../base/version.js'
import { evidenceOf, isGraded, type Route, type Version } from '../route.js'
import { frameResponses, headerComponents, problemSchema } from './errors.js'
import recorded from './examples.json' with { type: 'json' }
import { operation, securitySchemes } from './operation.js'
import { type DocumentPart, Schemas } from './schemas.js'
import { Descriptions, type Texts } from './texts.js'

/** The version of the interface (Micro Payment Service Interface, section 9). */
const INTERFACE_VERSION = '4.0.0'

export interface DocumentedService {
  readonly routes: readonly Route[]
  readonly baseUrl: string
  /** The weakest evidence grade that the service accepts. */
  readonly evidence: Evidence
  readonly texts: Texts
  /** By the ids of operations. Default: none. */
  readonly examples?: Readonly<Record<string, Example>>
}

interface ListedRoute {
  readonly route: Route
  readonly version: Version | undefined
}

/** The routes that answer in a service that accepts evidence grades down to `least`. */
export function routesThatAnswer(routes: readonly Route[], least: Evidence): ListedRoute[] {
  const listed = routes.flatMap((route) =>
    (route.versions ?? [undefined]).map((version): ListedRoute => ({ route, version })),
  )
  return listed.filter(({ route, version }) => !isGraded(route) || !isWeaker(evidenceOf(route, version), least))
}

/**
 * The OpenAPI 3.1 document of a service. It lists what answers: operations and fields with a weaker evidence grade than
 * the service accepts are left out. `x-evidence` has the grade of each operation, and of each field with its own.
 */
export function openapi(service: DocumentedService): DocumentPart {
  return documentOf(service, new Descriptions(service.texts))
}

/** The document, for a caller who wants to know which descriptions it found. */
export function documentOf(
  { routes, baseUrl, evidence: least, examples = {} }: DocumentedService,
  descriptions: Descriptions,
): DocumentPart {
  const schemas = new Schemas(descriptions, least)
  schemas.add('Problem', problemSchema(least))
  const listed = routesThatAnswer(routes, least)
  const paths: Record<string, DocumentPart> = {}
  for (const { route, version } of listed) {
    const path = (version ? `/${version}${route.path}` : route.path).replace(/:(\w+)/g, '{$1}')
    const operations = (paths[path] ??= {})
    const parts = { schemas, descriptions, least, example: examples[route.id] }
    operations[route.method.toLowerCase()] = operation(route, version, parts)
  }
  const tags = [...new Set(listed.map(({ route }) => route.tag))]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Micropayment service',
      version: INTERFACE_VERSION,
      'x-farthing-version': VERSION,
      description: descriptions.texts.introduction,
      contact: { name: 'farthing contributors' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: tags.map((name) => ({ name, description: descriptions.tag(name) })),
    paths,
    components: {
      schemas: sorted(schemas.components),
      headers: headerComponents,
      responses: frameResponses,
      securitySchemes: securitySchemes(baseUrl),
    },
  }
}

const sorted = <T>(record: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))

export interface Example {
  readonly params?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string | number>>
  readonly body?: Readonly<Record<string, unknown>>
  readonly answer?: unknown
}

/** Calls of a tour through the service, by the ids of their operations. Their service was closed, so its secrets open nothing. */
export const examples: Readonly<Record<string, Example>> = recorded
