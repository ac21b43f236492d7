/**
 * The operations of the client, by the route table. The build replaces this module by one that `scripts/client-module.ts`
 * writes: the table as a literal, and the same types without the schemas that they come from.
 */

import type { FieldsOfCode, ProblemCode, StatusOfCode } from '../../src/base/problem.js'
import { clientOperationsOf } from '../../src/composition/client-operations.js'
import type { probeRoutes } from '../../src/http/probes/routes.js'
import {
  loadRouteList,
  type OperationBody,
  type OperationErrors,
  type OperationId,
  type OperationParams,
  type OperationQuery,
  type OperationResult,
  type OperationWait,
  type Routes,
} from '../../src/routes.js'
import type { metricsRoutes } from '../../src/sandbox/controls/http/routes.js'
import type { CallOptions, CommonCode, FollowOperation, Grade, ListOperation, Operation } from './interface.js'
import type { NameOf } from './naming.js'
import type { RefusalOf } from './refusal.js'

export const clientOperations = clientOperationsOf(await loadRouteList())

/** Every code. `unknown`: the answer has none. */
export type Code = ProblemCode | 'unknown'
export type StatusOf<C extends Code> = C extends ProblemCode ? StatusOfCode<C> : number
export type FieldsOf<C extends Code> = C extends ProblemCode ? FieldsOfCode<C> : unknown

/** The operations of a grade or a stronger one, in their groups. */
export type Groups<G extends Grade> = {
  readonly [Group in keyof Members<G>]: {
    readonly [Id in Extract<Members<G>[Group], string> as NameOf<Id>[1]]: OperationOf<Id>
  } & Follows<Extract<Members<G>[Group], string>>
}

type Members<G extends Grade> = { [Id in EndpointId<G> as NameOf<Id>[0]]: Id }

/** The id of an operation under one version: with a suffix for every version but the first. */
type EndpointId<G extends Grade> = { [Id in ShownId]: EndpointIdOf<Id, G> }[ShownId]

type EndpointIdOf<Id extends OperationId, G extends Grade> =
  | (GradeOf<Id, FirstVersion<Id>> extends AtLeast[G] ? Id : never)
  | { [V in LaterVersion<Id>]: GradeOf<Id, V> extends AtLeast[G] ? `${Id}_${V}` : never }[LaterVersion<Id>]

interface AtLeast {
  documented: 'documented'
  observed: 'documented' | 'observed'
  named: 'documented' | 'observed' | 'named'
  designed: Grade
}

type Route<Id extends OperationId> = Routes[Id]
type Version = 'v2' | 'v3' | 'v4'
type Versions<Id extends OperationId> = NonNullable<Route<Id>['versions']>
type FirstVersion<Id extends OperationId> = Versions<Id>[0] extends Version ? Versions<Id>[0] : 'none'
type LaterVersion<Id extends OperationId> = Exclude<Versions<Id>[number], FirstVersion<Id>>

type GradeOf<Id extends OperationId, V extends string> = Route<Id>['evidence'] extends infer G extends Grade
  ? G
  : Route<Id>['evidence'] extends { readonly [Key in V]: infer G extends Grade }
    ? G
    : 'designed'

type MediaOf<Id extends OperationId> = NonNullable<Route<Id>['produces']>[number]

/** The operations of the client: all but the pages that people open in a browser, and the probes of a process manager. */
type ShownId = Exclude<
  { [Id in OperationId]: IsPage<Id> extends true ? never : Id }[OperationId],
  keyof typeof probeRoutes | keyof typeof metricsRoutes
>

type IsPage<Id extends OperationId> =
  Includes<MediaOf<Id>, 'text/html' | 'text/javascript'> extends true
    ? Includes<Route<Id>['auth'][number], 'none' | 'guest'>
    : false

type Includes<All, Some> = [Extract<All, Some>] extends [never] ? false : true

type IdOf<Endpoint extends string> = Endpoint extends `${infer Id extends OperationId}_${Version}`
  ? Id
  : Endpoint extends OperationId
    ? Endpoint
    : never

type OperationOf<Endpoint extends string> = OperationWith<IdOf<Endpoint>>

type OperationWith<Id extends OperationId> =
  IsList<Id> extends true
    ? ListOperation<ArgumentsOf<Id>, OperationResult<Id>, RefusalOf<CodeOf<Id>>>
    : Operation<ArgumentsOf<Id>, AnswerOf<Id>, RefusalOf<CodeOf<Id>>>

type IsList<Id extends OperationId> = Includes<NamesIn<OperationQuery<Id>>, 'after' | 'offset'>
type Follows<Endpoint extends string> = Following<'listEvents' & Endpoint> & Following<'listRequests' & Endpoint>

type Following<Id extends OperationId> = [Id] extends [never]
  ? unknown
  : { readonly follow: FollowOperation<ArgumentsOf<Id>, OperationResult<Id>> }

/** The path parameters in their order, then the fields, then the options. */
type ArgumentsOf<Id extends OperationId> = [
  ...ParametersIn<Id, Route<Id>['path']>,
  ...FieldsOfCall<Id>,
  options?: CallOptions,
]

type ParametersIn<Id extends OperationId, Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? [Parameter<Id, Name>, ...ParametersIn<Id, More>]
    : [Parameter<Id, Rest>]
  : []

type Parameter<Id extends OperationId, Name extends string> = Name extends `${infer Bare}.${string}`
  ? Parameter<Id, Bare>
  : Name extends keyof OperationParams<Id>
    ? OperationParams<Id>[Name]
    : never

type FieldsOfCall<Id extends OperationId> = Id extends 'importBinder'
  ? [csv: string]
  : [NamesIn<Fields<Id>>] extends [never]
    ? []
    : {} extends Fields<Id>
      ? [fields?: Fields<Id>]
      : [fields: Fields<Id>]

type Fields<Id extends OperationId> = [NamesIn<OperationBody<Id>>] extends [never]
  ? OperationQuery<Id>
  : OperationBody<Id>

/** The names of the fields. An object without fields has the type of one with any. */
type NamesIn<T> = string extends keyof T ? never : keyof T

type AnswerOf<Id extends OperationId> =
  Includes<NonNullable<Route<Id>['relays']>, true> extends true
    ? Response
    : Includes<MediaOf<Id>, 'text/event-stream'> extends true
      ? Response
      : Includes<MediaOf<Id>, 'text/csv' | 'text/html'> extends true
        ? string
        : Includes<MediaOf<Id>, 'application/pdf'> extends true
          ? Uint8Array<ArrayBuffer>
          : JsonOf<Id>

type JsonOf<Id extends OperationId> = [OperationResult<Id>] extends [never]
  ? undefined
  : OperationResult<Id> | OperationWait<Id>

type CodeOf<Id extends OperationId> = OperationErrors<Id> | CommonCode
