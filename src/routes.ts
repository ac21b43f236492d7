import type * as z from 'zod/mini'
import { loadRoutesOf } from './composition/feature.js'
import { features, type KnownFeature } from './features.js'
import type { Route } from './http/route.js'

/** The routes of each feature that has some. */
type Loaded = KnownFeature extends infer F ? (F extends { load(): Promise<infer M> } ? M[keyof M] : never) : never
/** Of `A | B`: `A & B`. */
type Both<Union> = (Union extends unknown ? (each: Union) => void : never) extends (each: infer All) => void
  ? All
  : never
/** The route table: every operation by its id. */
export type Routes = Both<Loaded>

/** Loads the route table, in the order of the documentation. Throws `not_loaded`. */
export const loadRoutes = async (): Promise<Routes> => (await loadRoutesOf(features)) as Routes

let list: readonly Route[] | undefined

/** Loads the route table as a list, the same one each time. Throws `not_loaded`. */
export const loadRouteList = async (): Promise<readonly Route[]> => (list ??= Object.values(await loadRoutes()))

/** An operation's id: its key in the table, its operationId and the name of its test. */
export type OperationId = keyof Routes
/** The types of an operation's path parameters, query, body and JSON answer. */
export type OperationParams<Id extends OperationId> = z.input<NonNullable<Routes[Id]['params']>>
export type OperationQuery<Id extends OperationId> = z.input<NonNullable<Routes[Id]['query']>>
export type OperationBody<Id extends OperationId> = z.input<NonNullable<Routes[Id]['body']>>
export type OperationResult<Id extends OperationId> = z.output<NonNullable<Routes[Id]['result']>>
/** The JSON of an answer 202: what the caller must wait for before they repeat the call. */
export type OperationWait<Id extends OperationId> = z.output<NonNullable<Routes[Id]['waits']>>
/** The error codes that an operation itself throws. The router adds those of authentication and decoding. */
export type OperationErrors<Id extends OperationId> = NonNullable<Routes[Id]['errors']>[number]
