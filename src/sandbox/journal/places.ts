import type { FieldSchema, SchemaPlace } from '../../http/fields/marks.js'
import type { Route } from '../../http/route.js'

const placeOf = (...schemas: (FieldSchema | undefined)[]): SchemaPlace =>
  schemas.filter((schema) => schema !== undefined)

/** The schemas of an operation's query. None of an unknown one. */
export const queryPlace = (route: Route | undefined): SchemaPlace => placeOf(route?.query)

export const bodyPlace = (route: Route | undefined): SchemaPlace =>
  placeOf(route?.body, route?.queryInBody ? route.query : undefined)

/** None of a refusal, and of what another service may have answered. */
export const answerPlace = (route: Route | undefined, status: number | null): SchemaPlace =>
  route?.relays || (status ?? 500) >= 400 ? [] : placeOf(route?.result, route?.waits)
