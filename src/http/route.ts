import type * as z from 'zod/mini'
import type { Evidence } from '../base/evidence.js'
import type { Owner } from '../base/owner.js'
import type { Problem, ProblemCode } from '../base/problem.js'
import type { Reader, Writer } from '../storage/storage.js'
import type { ServiceContext } from './context.js'
import type { Reply } from './reply.js'
import type { StoreOptions } from './stored-answer.js'

export type Version = 'v2' | 'v3' | 'v4'

/**
 * Who may call. `none`: nobody is asked. `session`: a signed-in session. `guest`: any session; one is issued when none is sent,
 * nor a token where the route takes those too.
 * `agent`: an app that a user connected, by its OIDC access token. `page`: the session that an embed gave to its page.
 */
export type Auth = 'none' | 'account' | 'user' | 'agent' | 'session' | 'page' | 'guest' | 'embed' | 'client' | 'refresh'

/** What of a connection lets an agent call anything. */
export type AgentScope = 'twin' | 'openid'

export interface AccountPrincipal {
  readonly kind: 'account'
  readonly owner: Owner
  readonly id: number
  /** What the access token has in common with those that it was refreshed from and is refreshed to. */
  readonly family_id: string
}
export interface UserPrincipal {
  readonly kind: 'user'
  readonly owner: Owner
  readonly id: number
  readonly via: 'token' | 'session'
  /** As an account's; absent where a session calls. */
  readonly family_id?: string
}
/** An app that acts for the user who connected it, as far as they allowed. */
export interface AgentPrincipal {
  readonly kind: 'agent'
  /** The user. */
  readonly owner: Owner
  readonly user_id: number
  readonly client_id: string
  readonly connection_id: number
  /** The business account that the user granted, as the connection stands now. */
  readonly account_id: number | null
  /** Of the access token: no more than of the connection. */
  readonly scopes: readonly string[]
  /** Of all the tokens that came of one code. */
  readonly family_id: string
}
/** A page whose embed a user signed in at: it may ask for payments of theirs, each approved by their second factor. */
export interface PagePrincipal {
  readonly kind: 'page'
  /** The user. */
  readonly owner: Owner
  readonly user_id: number
  /** Whose embed it was. */
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
/** Client credentials as sent, not yet checked: the token endpoint's own business. */
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

/** The session that a call came with, or the one issued for it. Nothing is stored until it holds something. */
export interface CallSession {
  readonly id: string
  readonly issued: boolean
}

/** A decoded, checked and authenticated request. */
export interface Call<P = unknown, Q = unknown, B = unknown, A extends Auth = Auth> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly principal: PrincipalByAuth[A]
  /** There for every caller of a `guest` or `page` route, and for those of others that came with one. */
  readonly session: [A] extends ['guest' | 'page'] ? CallSession : CallSession | undefined
  readonly version: Version | undefined
  readonly headers: Pick<Headers, 'get' | 'has'>
  /** The request's address, whole. */
  readonly url: string
  /** Fires when an answer that would go on for ever is to end. */
  readonly ending: AbortSignal | undefined
  /** Whether the caller's credential still counts: asked again by a call that waits, and by an answer that goes on. */
  readonly isAuthenticated: (tx: Reader) => Promise<boolean>
  /** Where `handle` opens its own transactions and takes an Idempotency-Key. */
  readonly storeAnswer: StoreCallAnswer
}

/**
 * Keeps what is answered under the Idempotency-Key, where one was sent, in the transaction of the effect; gives it back.
 * Throws `idempotency_in_progress`, which undoes the effect, where another call has taken the key over.
 */
export type StoreCallAnswer = <T>(tx: Writer, answer: T, options?: StoreOptions) => Promise<T>

export type Nothing = z.ZodMiniObject<{}>
type ObjectSchema = z.ZodMiniObject

/** As `T`, and nothing of it may be changed. */
export type ReadonlyJson<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined
    ? T
    : { readonly [Key in keyof T]: ReadonlyJson<T[Key]> }

/**
 * What a handler gives: what its `result` (or `waits`) shows as JSON, a `Reply` where status, headers or body are its own,
 * or the problem that it refuses with, where what it wrote is kept.
 */
type Handled<R extends z.ZodMiniType, W extends z.ZodMiniType> =
  | ReadonlyJson<z.output<R>>
  | Reply<ReadonlyJson<z.output<R> | z.output<W>>>
  | Problem

interface RouteFacts<
  P extends ObjectSchema,
  Q extends ObjectSchema,
  B extends ObjectSchema,
  A extends Auth,
  R extends z.ZodMiniType,
  W extends z.ZodMiniType,
  E extends ProblemCode,
> {
  readonly summary: string
  readonly evidence: Evidence | Readonly<Partial<Record<Version, Evidence>>>
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: `/${string}`
  /** Path prefixes; absent for addresses outside of the versions, as pages and scripts are. */
  readonly versions?: readonly Version[]
  readonly auth: readonly A[]
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** On a GET: the query's fields may also come as a JSON body. */
  readonly queryInBody?: boolean
  /** The body may be left out, whatever its Content-Type, as if it were `{}`. */
  readonly bodyOptional?: boolean
  /** Which limit its body has. Default `bodyBytes`. */
  readonly bodyLimit?: 'snapshotBytes'
  readonly status?: number
  /** JSON unless another media type is named. */
  readonly result?: R
  /** May also answer 202 with this: what is to be waited for, before the same call is made again. */
  readonly waits?: W
  readonly produces?: readonly string[]
  /** Codes that the handler throws; those of the frame (authentication, decoding) are added by it. */
  readonly errors?: readonly E[]
  /** How a refusal is shown, where not as the service's own JSON. Status and headers are the problem's unless the reply sets them. */
  readonly refused?: (refused: Problem, headers: Pick<Headers, 'get'>) => Reply<object>
  /** May also answer as an upstream service did: its status, media type and body. */
  readonly relays?: boolean
  /** May also answer 303: on to another page. */
  readonly redirects?: boolean
  /** What a failure of the service's own is called here, in place of `internal_error`. */
  readonly failure?: ProblemCode
  /** Takes `X-Device-Token`, by which a registered device says that it is one. */
  readonly deviceToken?: 'required' | 'optional'
  /** Refuses bodies that hold a card number, under any name: those never pass through this service. */
  readonly refusesCardData?: boolean
  /** Takes `Idempotency-Key`. */
  readonly idempotent?: boolean
  /** Its address is a resource of its own (RFC 8707): agents' tokens for that alone are good here too. */
  readonly isResource?: boolean
  /** What the user must have allowed an agent for it to call this. Default `twin`. */
  readonly agentScope?: AgentScope
  /** Answers may be cached and shared: they carry neither value nor secrets. */
  readonly shareable?: boolean
  /** `sandbox`: a control, there only where the sandbox is on. `meta`: about the service itself. Strict mode leaves both alone. */
  readonly scope?: 'service' | 'sandbox' | 'meta'
  /** A control that answers everyone, wherever they call from. */
  readonly isOpen?: boolean
}

/**
 * The handler is one of three: `read` and `write` run in one transaction together with the caller's authentication;
 * `handle` opens its own. A problem that `write` throws undoes its transaction; one that it returns keeps it.
 */
type RouteHandler<C, H> = KeyOwner<C> &
  (
    | { read(tx: Reader, call: C, service: ServiceContext): Promise<H>; write?: never; handle?: never }
    | { write(tx: Writer, call: C, service: ServiceContext): Promise<H>; read?: never; handle?: never }
    | { handle(call: C, service: ServiceContext): Promise<H>; read?: never; write?: never }
  )

/**
 * Where the handler itself checks who calls: the parts of the credential as it was sent, to which Idempotency-Keys then belong.
 * Undefined: they belong to the principal.
 */
interface KeyOwner<C> {
  presented?(call: C): readonly (string | undefined)[] | undefined
  /**
   * Whether a stored answer is given again: what it holds may have been revoked since. Where not, the call runs as if none were
   * stored. Throws what the caller is told instead.
   */
  isStillValid?(tx: Writer, call: C, answer: unknown, service: ServiceContext): Promise<boolean>
}

/** An operation as its feature declares it: all but its id, which is its key among the feature's routes. */
export type RouteDefinition<
  P extends ObjectSchema = ObjectSchema,
  Q extends ObjectSchema = ObjectSchema,
  B extends ObjectSchema = ObjectSchema,
  A extends Auth = Auth,
  R extends z.ZodMiniType = z.ZodMiniType,
  W extends z.ZodMiniType = z.ZodMiniType,
  E extends ProblemCode = ProblemCode,
> = RouteFacts<P, Q, B, A, R, W, E> & RouteHandler<Call<z.output<P>, z.output<Q>, z.output<B>, A>, Handled<R, W>>

/** One entry of the route table: everything there is to know about an operation. */
export type Route = RouteFacts<
  ObjectSchema,
  ObjectSchema,
  ObjectSchema,
  Auth,
  z.ZodMiniType,
  z.ZodMiniType,
  ProblemCode
> &
  RouteHandler<Call, unknown> & {
    /** The operation's name: the operationId in the OpenAPI document. */
    readonly id: string
    /** The heading under which the documentation has it. */
    readonly tag: string
  }

/** Declares an operation. Its handler's `call` and answer are typed by the schemas and the callers it names. */
export function route<
  A extends Auth,
  P extends ObjectSchema = Nothing,
  Q extends ObjectSchema = Nothing,
  B extends ObjectSchema = Nothing,
  R extends z.ZodMiniType = z.ZodMiniNever,
  W extends z.ZodMiniType = z.ZodMiniNever,
  E extends ProblemCode = never,
>(definition: RouteDefinition<P, Q, B, A, R, W, E>): RouteDefinition<P, Q, B, A, R, W, E> {
  return definition
}

/** The operations of a feature, each with its key as its id, under one heading. */
export function defineRoutes<T extends Readonly<Record<string, object>>>(
  tag: string,
  definitions: T,
): { readonly [Id in keyof T]: T[Id] & { readonly id: Id; readonly tag: string } } {
  const named = Object.entries(definitions).map(([id, definition]) => [id, { ...definition, id, tag }])
  return Object.fromEntries(named) // Object.fromEntries forgets the keys.
}

/**
 * Whether strict mode judges a route. No program leans on the pages at which people sign in and answer, and metadata that standards
 * place under `/.well-known/` is not made up.
 */
export const isGraded = ({ scope = 'service', path, auth, produces }: Route): boolean =>
  scope === 'service' && !path.includes('/.well-known/') && !(auth.includes('guest') && produces?.includes('text/html'))

/** The evidence grade of a route under one version prefix. */
export function evidenceOf({ evidence }: Route, version: Version | undefined): Evidence {
  return typeof evidence === 'string' ? evidence : ((version && evidence[version]) ?? 'designed')
}
