import type { Evidence } from '../base/evidence.js'
import { gradeOf } from '../http/fields/graded.js'
import type { z } from '../http/fields/schema.js'
import { isProbe } from '../http/probes/paths.js'
import { isPage, type Route } from '../http/route.js'
import type { ClientOperation } from './client-operation.js'

const JSON_TYPE = 'application/json'
/** The operations of a client: all but the pages that people open in a browser, and the probes of a process manager. */
export const clientOperationsOf = (routes: readonly Route[]): readonly ClientOperation[] =>
  routes.filter((route) => !isPage(route) && !isProbe(route.path)).map(operationOf)

function operationOf(route: Route): ClientOperation {
  const { id, method, path, versions, evidence, scope, auth, query, body, text } = route
  const { idempotent, relays, produces = [] } = route
  if (query && body) throw new TypeError(`${id} has a query and a body: a client could not tell which field is whose.`)
  const [media = JSON_TYPE] = produces
  const streams = produces.includes('text/event-stream')
  const takes = text ? 'text' : body ? 'body' : query ? 'query' : undefined
  const reads = auth.includes('client')
    ? 'client'
    : auth.every((kind) => kind === 'none' || kind === 'embed')
      ? 'nothing'
      : undefined
  const pages = (['after', 'offset'] as const).find((name) => query && name in query.shape)
  // Who may call an operation of the weakest grade may send all of its fields.
  const graded = evidence === 'designed' ? {} : gradesIn(query ?? body)
  return {
    id,
    ...(method !== 'GET' && { method }),
    path,
    ...(versions?.join() !== 'v4' && { versions: versions ?? [] }),
    ...(evidence !== 'designed' && { evidence }),
    ...(takes && { takes }),
    ...(reads && scope !== 'sandbox' && { reads }),
    ...(idempotent && { idempotent }),
    ...(pages && { pages }),
    ...(streams && method === 'GET' && { follows: true }),
    ...((relays || (streams && method !== 'GET')) && { raw: true }),
    ...(media !== JSON_TYPE && { accept: media }),
    ...(Object.keys(graded).length > 0 && { graded }),
  }
}

function gradesIn(schema: z.ZodMiniObject | undefined): Record<string, Evidence> {
  return Object.fromEntries(
    Object.entries(schema?.shape ?? {}).flatMap(([name, field]) => {
      const grade = gradeOf(field)
      return grade ? [[name, grade]] : []
    }),
  )
}
