import type * as z from 'zod/mini'
import type { Evidence } from '../base/evidence.js'
import type { Owner } from '../base/owner.js'
import type { Problem, ProblemCode } from '../base/problem.js'
import type { Reader, Writer } from '../storage/storage.js'
import type { CallSource, ServiceContext, StoreAnswer } from './context.js'
import type { Refusal, Reply } from './reply.js'

export type Version = 'v2' | 'v3' | 'v4'

/**
 * Who may call. `none`: everyone, without credentials. `session`: a signed-in session. `guest`: any session, and a new
 * one if the caller sends neither a session nor an accepted token. `agent`: an app that a user connected, by its OpenID
 * Connect access token. `page`: a page session.
 */
export type Auth = 'none' | 'account' | 'user' | 'agent' | 'session' | 'page' | 'guest' | 'embed' | 'client' | 'refresh'

/** The scope of a connection that an agent needs for a route. */
export type AgentScope = 'twin' | 'openid'

export interface AccountPrincipal {
  readonly kind: 'account'
  readonly owner: Owner
  readonly id: number
  /** The same for all access tokens of one chain of refreshes. */
  readonly family_id: string
}
export interface UserPrincipal {
  readonly kind: 'user'
  readonly owner: Owner
  readonly id: number
  readonly via: 'token' | 'session'
  /** Like an account's. Absent if a session calls. */
  readonly family_id?: string
  /** The client credentials that the access token came from. Absent if a session calls. */
  readonly client_id?: string
}
/** An app that acts for the user who connected it. */
export interface AgentPrincipal {
  readonly kind: 'agent'
  /** The user. */
  readonly owner: Owner
  readonly user_id: number
  readonly client_id: string
  readonly connection_id: number
  /** The business account that the user granted. Null if they granted none. */
  readonly account_id: number | null
  /** The scopes of the access token, a subset of the connection's. */
  readonly scopes: readonly string[]
  /** The same for all tokens from one authorization code. */
  readonly family_id: string
}
/** The page around an embed in which a user signed in. The user approves each of its payments by second factor. */
export interface PagePrincipal {
  readonly kind: 'page'
  /** The user. */
  readonly owner: Owner
  readonly user_id: number
  /** The account of the embed. */
  readonly account_id: number
  readonly origin: string
}
/** The account whose publishable secret a page sent. */
export interface EmbedPrincipal {
  readonly kind: 'embed'
  readonly account_id: number
}
export interface GuestPrincipal {
  readonly kind: 'guest'
  readonly user_id: number | null
}
/** Client credentials as they were sent. The token endpoint checks them. */
export interface ClientPrincipal {
  readonly kind: 'client'
  readonly client_id: string
  readonly client_secret: string
}
export interface RefreshPrincipal {
  readonly kind: 'refresh'
  readonly refresh_token: string
}
export interface NoPrincipal {
  readonly kind: 'none'
  /** How a caller is refused who may pay in the request itself, and cannot. */
  readonly refusal?: Problem
}

interface PrincipalByAuth {
  none: NoPrincipal
  account: AccountPrincipal
  user: UserPrincipal
  agent: AgentPrincipal
  session: UserPrincipal
  page: PagePrincipal
  guest: GuestPrincipal
  embed: EmbedPrincipal
  client: ClientPrincipal
  refresh: RefreshPrincipal
}
export type Principal = PrincipalByAuth[Auth]

/** The session that a call came with, or one that was issued for it. It is stored only when it holds something. */
export interface CallSession {
  readonly id: string
  readonly issued: boolean
  /** Whether it follows from the request, so that a retry gets it again. */
  readonly isDerived?: boolean
}

/** A decoded, checked and authenticated request. */
export interface Call<P = unknown, Q = unknown, B = unknown, A extends Auth = Auth> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** The bytes of the body of a route with `takesBytes`, as they came. Empty if there is none, and on other routes. */
  readonly bytes: Uint8Array
  /** The body of a route with `text`, in pieces. It can be read once. Empty on other routes. */
  readonly text: AsyncIterable<string>
  readonly principal: PrincipalByAuth[A]
  /** Always present on `guest` and `page` routes. On other routes, present if the call came with one. */
  readonly session: [A] extends ['guest' | 'page'] ? CallSession : CallSession | undefined
  readonly version: Version | undefined
  readonly headers: Pick<Headers, 'get' | 'has'>
  /** The request's full URL. */
  readonly url: string
  readonly source: CallSource
  /** Fires when an endless answer must end. */
  readonly ending: AbortSignal | undefined
  /** Whether the caller's credential is still valid. Calls that wait and answers that stream check it again. */
  readonly isAuthenticated: (tx: Reader) => Promise<boolean>
  /** Stores the answer of a `handle` route under the caller's Idempotency-Key. */
  readonly storeAnswer: StoreAnswer<unknown>
}

export type Nothing = z.ZodMiniObject<{}>
type ObjectSchema = z.ZodMiniObject

/** `T`, deeply read-only. */
export type ReadonlyJson<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : { readonly [Key in keyof T]: ReadonlyJson<T[Key]> }

/** The JSON of `result`, a `Reply`, or a problem. A problem that is returned, not thrown, lands what the handler wrote. */
type Handled<R extends z.ZodMiniType, W extends z.ZodMiniType> =
  | ReadonlyJson<z.output<R>>
  | Reply<ReadonlyJson<z.output<R> | z.output<W>>>
  | Problem

interface RouteFacts<
  P extends ObjectSchema = ObjectSchema,
  Q extends ObjectSchema = ObjectSchema,
  B extends ObjectSchema = ObjectSchema,
  A extends Auth = Auth,
  R extends z.ZodMiniType = z.ZodMiniType,
  W extends z.ZodMiniType = z.ZodMiniType,
  E extends ProblemCode = ProblemCode,
> {
  readonly summary: string
  readonly evidence: Evidence | Readonly<Partial<Record<Version, Evidence>>>
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: `/${string}`
  /** Path prefixes. Absent for unversioned paths, such as pages and scripts. */
  readonly versions?: readonly Version[]
  readonly auth: readonly A[]
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** For a GET: the fields of the query may also come as a JSON body, as the interface shows them. */
  readonly queryInBody?: boolean
  /** Forms of path parameters that are weaker than the operation. */
  readonly weakParams?: Readonly<Record<string, { readonly form: RegExp; readonly evidence: Evidence }>>
  /** An empty body counts as `{}`, whatever its Content-Type. */
  readonly bodyOptional?: boolean
  /** Takes the bytes of its body too: `Call.bytes`. They stay in memory until it is answered. */
  readonly takesBytes?: boolean
  /** The limit of its body. Default: `bodyBytes`. */
  readonly bodyLimit?: 'snapshotBytes'
  /** Its body is a stream of text instead of fields: `Call.text`. Only for `handle`. */
  readonly text?: { readonly type: 'text/csv'; readonly limit: 'binderBytes' }
  readonly status?: number
  /** The answer, as JSON unless `produces` names a different media type. */
  readonly result?: R
  /** May also answer 202 with this: what the caller must wait for before they repeat the call. */
  readonly waits?: W
  readonly produces?: readonly string[]
  /** Codes that the handler throws. Those of authentication and decoding are added automatically. */
  readonly errors?: readonly E[]
  /** Renders refusals, if not as the usual JSON. Status and headers come from the problem unless the reply sets them. */
  readonly refused?: Refusal
  /** Errors repeat their sentence as `message`, which existing clients of this operation read. */
  readonly repeatsErrorAsMessage?: boolean
  /** Takes messages of JSON-RPC: answers 202 without a body to one that needs no answer, and refuses some in its own form. */
  readonly isJsonRpc?: boolean
  /** May also relay an upstream service's status, media type and body. */
  readonly relays?: boolean
  /** May also answer 303, a redirect to a different page. */
  readonly redirects?: boolean
  /** The code for failures of the service itself. Default: `internal_error`. */
  readonly failure?: ProblemCode
  /** Accepts the session cookie without `Origin` and `Sec-Fetch-Site`, of which every browser sends one. */
  readonly takesBareCookie?: boolean
  /** Accepts `X-Device-Token`, with which a registered device identifies itself. */
  readonly deviceToken?: 'required' | 'optional'
  /** Refuses bodies with a card number in any field. Card numbers never pass through this service. */
  readonly refusesCardData?: boolean
  /** The collection whose new rows count towards `limits.newPerDay`. A `handle` itself calls `service.rules.countNew`. */
  readonly adds?: string
  /** The field with the rows of a list that, as existing clients expect, is whole without `limit` and `after`. */
  readonly wholeList?: string
  /** Accepts `Idempotency-Key`. */
  readonly idempotent?: boolean
  /** Its URL is a resource (RFC 8707), so agents' tokens for only this resource are valid too. */
  readonly isResource?: boolean
  /** The scope that an agent needs. Default: `twin`. */
  readonly agentScope?: AgentScope
  /** Whether answers may be cached and shared, because they hold neither value nor secrets. */
  readonly shareable?: boolean
  /** `sandbox`: a control, only in sandboxes. `meta`: about the service itself. Strict mode ignores both. */
  readonly scope?: 'service' | 'sandbox' | 'meta'
  /** A control that answers remote callers too. */
  readonly isOpen?: boolean
}

/** `read` and `write` run in one transaction with authentication, `handle` opens its own. What `write` throws undoes its own. */
type RouteHandler<C, H> = KeyOwner<C> &
  (
    | { read(tx: Reader, call: C, service: ServiceContext): Promise<H>; write?: never; handle?: never }
    | { write(tx: Writer, call: C, service: ServiceContext): Promise<H>; read?: never; handle?: never }
    | { handle(call: C, service: ServiceContext): Promise<H>; read?: never; write?: never }
  )

/** The credential as it was sent, to which Idempotency-Keys then belong. Default: they belong to the principal. */
interface KeyOwner<C> {
  presented?(call: C): readonly (string | undefined)[] | undefined
  /** Whether a stored answer may be sent again. If false, the call runs again. May throw a problem to answer with. */
  isStillValid?(tx: Writer, call: C, answer: unknown, service: ServiceContext): Promise<boolean>
}

/** An operation without its id, which is its key among the feature's routes. */
export type RouteDefinition<
  P extends ObjectSchema = ObjectSchema,
  Q extends ObjectSchema = ObjectSchema,
  B extends ObjectSchema = ObjectSchema,
  A extends Auth = Auth,
  R extends z.ZodMiniType = z.ZodMiniType,
  W extends z.ZodMiniType = z.ZodMiniType,
  E extends ProblemCode = ProblemCode,
> = RouteFacts<P, Q, B, A, R, W, E> &
  RouteHandler<Call<z.output<P>, z.output<Q>, z.output<B>, A>, Handled<R, W>> &
  RouteSeller<Call<z.output<P>, z.output<Q>, z.output<B>, 'none'>, Handled<R, W>>

interface RouteSeller<C, H> {
  /** Handles a call without credentials, whose caller may pay in the request itself. Only beside `handle`. Absent: it is refused. */
  sell?(call: C, service: ServiceContext): Promise<H>
}

/** An entry of the route table. */
export type Route = RouteFacts &
  RouteHandler<Call, unknown> &
  RouteSeller<Call, unknown> & {
    /** The operation's id, also its operationId in the OpenAPI document. */
    readonly id: string
    /** Its heading in the documentation. */
    readonly tag: string
  }

/** The facts of a route whose types are as narrow as they are written. The types of `farthing/client` read them. */
export interface RouteLiterals<
  Path extends string,
  V extends readonly Version[],
  G extends RouteFacts['evidence'],
  M extends string,
  Relays extends boolean,
> {
  readonly path: Path
  readonly versions?: V
  readonly evidence: G
  readonly produces?: readonly M[]
  readonly relays?: Relays
}

/** Declares an operation. Its schemas and callers type its handler. */
export function route<
  A extends Auth,
  const Path extends `/${string}`,
  const G extends RouteFacts['evidence'],
  P extends ObjectSchema = Nothing,
  Q extends ObjectSchema = Nothing,
  B extends ObjectSchema = Nothing,
  R extends z.ZodMiniType = z.ZodMiniNever,
  W extends z.ZodMiniType = z.ZodMiniNever,
  E extends ProblemCode = never,
  const V extends readonly Version[] = [],
  M extends string = never,
  Relays extends boolean = false,
>(
  definition: RouteDefinition<P, Q, B, A, R, W, E> & RouteLiterals<Path, V, G, M, Relays>,
): RouteDefinition<P, Q, B, A, R, W, E> & RouteLiterals<Path, V, G, M, Relays> {
  return definition
}

/** Declares the operations of a feature under one heading. Each key becomes the operation's id. */
export function defineRoutes<T extends Readonly<Record<string, object>>>(
  tag: string,
  definitions: T,
): { readonly [Id in keyof T]: T[Id] & { readonly id: Id; readonly tag: string } } {
  const named = Object.entries(definitions).map(([id, definition]) => [id, { ...definition, id, tag }])
  return Object.fromEntries(named) // Object.fromEntries loses the types of the keys.
}

/** Whether strict mode checks a route's evidence grade: not of pages, their scripts, and `/.well-known/`. */
export const isGraded = (route: Route): boolean =>
  (route.scope ?? 'service') === 'service' && !route.path.includes('/.well-known/') && !isPage(route)

/** Whether it is a page that anybody may open, or the script of one. */
export const isPage = ({ auth, produces }: Pick<Route, 'auth' | 'produces'>): boolean =>
  (auth.includes('guest') || auth.includes('none')) &&
  (produces?.includes('text/html') || produces?.includes('text/javascript') || false)

/** The evidence grade of a route under one version prefix. */
export function evidenceOf({ evidence }: Route, version: Version | undefined): Evidence {
  return typeof evidence === 'string' ? evidence : ((version && evidence[version]) ?? 'designed')
}

/** Codes that several operations throw together: of a card, of a mailed code, of an agent's approval, and so on. */
const card = ['too_many_declines', 'too_many_charges', 'card_declined', 'processor_failed'] as const
const code = [
  ...(['too_many_codes', 'code_wrong', 'code_expired', 'too_many_tries'] as const),
  ...(['too_many_pending', 'too_many_mails'] as const),
] as const
const approval = ['approval_required', 'approval_not_given', 'approval_spent', 'approval_mismatch'] as const
const delegate = ['delegate_required', 'delegate_refused'] as const
const item = ['item_inactive', 'arguments_refused', 'schema_refused'] as const
export const ERRORS = { card, code, approval, delegate, item } as const
