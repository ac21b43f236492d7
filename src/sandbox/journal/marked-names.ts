import type { ServiceContext } from '../../http/context.js'
import { type FieldSchema, fieldsIn, isMarked, markOf, type SchemaPlace } from '../../http/fields/marks.js'
import type { Route } from '../../http/route.js'
import type { AnyCollection } from '../../storage/storage.js'
import { sandboxOf } from '../onion/context.js'

/** Names that marks give, by which values are judged that no schema knows. */
interface MarkedNames {
  /** `sometimes`: other fields of this name are public. */
  readonly secret: ReadonlyMap<string, 'always' | 'sometimes'>
  readonly generated: ReadonlySet<string>
}

let known: MarkedNames | undefined

/** Reads the marks of all operations and collections, once. */
export async function knowMarks(service: Pick<ServiceContext, 'sandbox'>): Promise<void> {
  if (known || !service.sandbox) return
  const { loadRoutes, collections } = sandboxOf(service)
  learnMarks(await loadRoutes(), collections)
}

/** Takes the names from the marks of all operations and collections. All services of a process have the same. */
export function learnMarks(routes: readonly Route[], collections: readonly AnyCollection[]): void {
  if (known) return
  const [secret, plain, generated] = [new Set<string>(), new Set<string>(), new Set<string>()]
  for (const message of routes.flatMap(messagesOf))
    for (const { name, schema } of fieldsIn(message))
      (markOf(schema, 'isSecret') ? secret : markOf(schema, 'isGenerated') ? generated : plain).add(name)
  for (const { secrets = [] } of collections) for (const field of secrets) secret.add(field)
  // Ids and hashes are public nearly everywhere. Those that are not stand in fields that a schema knows.
  const names = [...secret].filter((name) => !generated.has(name))
  known = { generated, secret: new Map(names.map((name) => [name, plain.has(name) ? 'sometimes' : 'always'])) }
}

const messagesOf = ({ params, query, body, result, waits }: Route): FieldSchema[] =>
  [params, query, body, result, waits].filter((schema) => schema !== undefined)

/** A code of an error, or the name of a thing such as `payment:12`. */
const PUBLIC = /^"?(?:[a-z]+(?:_[a-z]+)*|(?!delegate:)[a-z_-]+:[^\s"]*)"?$/

/** A chain shows it to everybody, and nobody can pay with it. */
const EIP3009_NONCE = /^"?0x[0-9a-f]{64}"?$/i

/** Whether a value under this name may be a secret. Before the names are known, each may. */
export function isSecretName(name: string, value: string): boolean {
  if (!known) return true
  if (name === 'nonce' && EIP3009_NONCE.test(value)) return false
  const which = known.secret.get(name) ?? known.secret.get(name.replace(/s$/, ''))
  return which === 'always' || (which === 'sometimes' && !PUBLIC.test(value))
}

/** Whether a value differs in each repetition, as far as its schema or its name says. */
export const isGenerated = (place: SchemaPlace, name: string): boolean =>
  place.length > 0 ? isMarked(place, 'isGenerated') : (known?.generated.has(name) ?? false)

/** Headers that identify a caller. */
export const IDENTIFYING: ReadonlySet<string> = new Set([
  ...['authorization', 'proxy-authorization', 'cookie', 'set-cookie'],
  ...['x-session-id', 'x-control-token', 'x-device-token'],
])

const placeOf = (...schemas: (FieldSchema | undefined)[]): SchemaPlace =>
  schemas.filter((schema) => schema !== undefined)

/** The schemas of an operation's query. None of an unknown one. */
export const queryPlace = (route: Route | undefined): SchemaPlace => placeOf(route?.query)

export const bodyPlace = (route: Route | undefined): SchemaPlace =>
  placeOf(route?.body, route?.queryInBody ? route.query : undefined)

/** None of a refusal, and of what another service may have answered. */
export const answerPlace = (route: Route | undefined, status: number | null): SchemaPlace =>
  route?.relays || (status ?? 500) >= 400 ? [] : placeOf(route?.result, route?.waits)
