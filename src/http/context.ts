import type { Evidence } from '../base/evidence.js'
import type { UpstreamList } from '../base/ip-address.js'
import type { LimitedMap } from '../base/memo.js'
import type { CardRow } from '../base/message.js'
import type { Parts } from '../base/parts.js'
import type { Alarm, Cards, ChargeResult, Clock, Fonts, Log, Mailer, Push, Random, Upstream } from '../base/ports.js'
import type { Problem } from '../base/problem.js'
import type { Keyring } from '../base/secrets.js'
import type { SharedPlaces } from '../base/shared-places.js'
import type { History } from '../storage/history/history.js'
import type { ServiceStorage } from '../storage/service-storage.js'
import type { AnyCollection, Reader, Storage, Writer } from '../storage/storage.js'
import type { SchemaHistory } from '../storage/tables/migration.js'
import type { FindCaller } from './caller.js'
import type { ServiceEnding } from './ending.js'
import type { Faults } from './faults.js'
import type { HeldBodies } from './fields/held-bodies.js'
import type { FetchSource } from './incoming.js'
import type { Limits } from './limits.js'
import type { Measurements } from './measurements.js'
import type { Recorder } from './recording.js'
import type { Principal, Route } from './route.js'
import type { WaitingRequests } from './waiting-requests.js'

/** The ports and settings of one service. Handlers get it together with their transaction. */
export interface ServiceContext {
  readonly storage: ServiceStorage
  /** A random name that distinguishes this service from every other one, past or present, over its storage. */
  readonly instance: string
  readonly clock: Clock
  readonly alarm: Alarm
  readonly random: Random
  readonly keys: Keyring
  /** Takes the key of a different state. Calls that are running go on with the former one. */
  changeKeys(keys: Keyring): void
  /** By the key that an option sets. Undefined if the key is stored with the state. */
  readonly givenKeys: Keyring | undefined
  readonly mailer: Mailer
  readonly push: Push
  readonly fonts: Fonts | undefined
  readonly upstream: Upstream
  readonly allowUpstream: ((url: URL) => boolean) | UpstreamList | undefined
  /** Whether a purchase is charged even if its endpoint fails. */
  readonly chargeOnUpstreamError: boolean
  /** Undefined if the service cannot charge cards. */
  readonly cards: Cards | undefined
  readonly log: Log
  /** What the bundle of this service holds of what it may leave out. */
  readonly parts: Parts
  readonly limits: Limits
  /** The URL of the service, without a trailing slash. */
  readonly baseUrl: string
  /** The path of `baseUrl`, without a trailing slash. Empty at the root. */
  readonly basePath: string
  /** The ending of twins' hostnames. */
  readonly twinDomain: string
  /** The unit of `balances`: the digital quantity, with decimals, or its smallest unit, in integers. */
  readonly balances: 'quantity' | 'smallest'
  readonly evidence: Evidence
  readonly accountCreation: boolean
  /** Whether a proxy says which address a request comes from. */
  readonly trustsProxy: boolean
  readonly ending: ServiceEnding
  readonly waiting: WaitingRequests
  readonly bodies: HeldBodies
  /** Whether the start has ended, and well. */
  hasStarted(): boolean
  /** Upstream calls in progress in this process, by their tokens. */
  readonly ongoing: Map<string, Promise<unknown>>
  readonly sandbox: SandboxContext | undefined
  /** Records requests, timers and deliveries. Undefined if there is no journal. */
  readonly recorder: Recorder | undefined
  /** What the commits of this process replaced. Only a sandbox has it. */
  readonly history: History | undefined
  /** The failures that tests of a sandbox make on purpose. Undefined without a sandbox. */
  readonly faults: Faults | undefined
  /** The number of the last commit of an entry of the journal. Undefined for an unknown one. */
  readonly commitOfEntry: ((id: string) => number | undefined) | undefined
  readonly background: Background
  /** The streams that are open in this process. */
  readonly streams: SharedPlaces
  /** The owner whose limits count what an owner causes. */
  responsibleFor(tx: Reader, owner: string): Promise<string>
  /** The generation of a user, in which what they make is valid. 0 of every other owner. */
  generationOf(tx: Reader, owner: string): Promise<number>
  /** Authenticates callers. */
  readonly findCaller: FindCaller
  /**
   * Counts a new row of the collection `kind` for its maker. Throws `too_many_new`. A maker without an owner counts by a
   * public client address, or not at all.
   */
  countNew(
    tx: Writer,
    kind: string,
    maker: Maker,
    service: Pick<ServiceContext, 'limits' | 'clock' | 'sandbox'>,
  ): Promise<void>
  /** Counts the bytes of an answer that is to be stored. False if its maker has reached `limits.storedBytesPerDay`. */
  countStored(
    tx: Writer,
    bytes: number,
    maker: Maker,
    service: Pick<ServiceContext, 'limits' | 'clock'>,
  ): Promise<boolean>
  /** Adds to a refusal what only later features know, such as where the user can approve the call. */
  completeRefusal(refusal: Problem, principal: Principal, service: ServiceContext): Promise<Problem>
  /** Checks that a commodity is for sale to callers outside the account `within`. Throws `item_inactive`. */
  checkForSale(tx: Reader, hash: string, within?: number): Promise<void>
  /** Whether a catalog item sells a commodity. */
  isSoldByItem(tx: Reader, hash: string): Promise<boolean>
  /** What features end when a user first proves their email. */
  readonly onFirstProof: readonly OnFirstProof[]
  /** What features do when someone signs in, in the transaction that signs them in. */
  readonly onSignIn: readonly OnSignIn[]
  /** What features end when an app is disconnected. */
  readonly onDisconnect: readonly OnDisconnect[]
  /** Writes an event for the owners of work that failed too often and waits for an operator. Never rejects. */
  recordDeadLetter(tx: Writer, parked: DeadLetterSource): Promise<void>
}

/** Where a call comes from, for limits of what people do before anybody knows them. */
export interface CallSource {
  /** The client's address. Undefined: unknown, or not from a network. */
  readonly address: string | undefined
  /** What the cookie of proven devices holds. */
  readonly device: string | undefined
}

/** Who creates something. */
export interface Maker {
  /** `account:1` or `user:2`. */
  readonly owner?: string | undefined
  readonly address?: string | undefined
}

/** A user who has just signed in with a mailed code. */
export interface SignedIn {
  readonly userId: number
  readonly email: string
  readonly sessionId: string
  /** The id that the session had before. */
  readonly previousSessionId: string
  /** The user of the session before. Null for a guest. */
  readonly previousUserId: number | null
  readonly at: number
}

export type OnSignIn = (tx: Writer, signedIn: SignedIn) => Promise<void>

/** How many things of one kind ended, and what they are called. `all`: there were some, and nobody counted them. */
export interface EndedCount extends EndedKind {
  readonly count: number | 'all'
}

interface EndedKind {
  readonly one: string
  readonly many: string
}

/** A user who has proven their email, and how many things of a kind one transaction may end. */
export interface ProvenUser {
  readonly userId: number
  /** The user's generation from now on. */
  readonly generation: number
  readonly most: number
  readonly at: number
}

/** What a feature ends at the first proof. */
export interface OnFirstProof extends EndedKind {
  /**
   * Present if there is no limit: `end` then ends at most `most` that carry a lower generation, and runs again while there
   * may be more. They are dead already where they are used. Absent if `end` ends everything.
   */
  readonly isSliced?: true
  /** Returns how many it ended. */
  readonly end: (tx: Writer, proven: ProvenUser) => Promise<number>
}

export type OnDisconnect = (tx: Writer, ended: { readonly connectionId: number; readonly at: number }) => Promise<void>

/** Work that failed too often: a timer's job, or recording the outcome of a message. */
export interface DeadLetterSource {
  /** `timer:1` or `message:1`. */
  readonly id: string
  /** The kind of a timer, or the kind and purpose of a message, such as `card_topup`. */
  readonly kind: string
  /** The id or address that the work is about. */
  readonly subject: string
}

/** How long to watch what is read. */
export interface Watching {
  readonly ms: number
  readonly ending?: AbortSignal | undefined
  /** Default: the service's. */
  readonly storage?: Pick<Storage, 'read'>
}

/** What was read, and what comes after it. */
export interface Watched<T> {
  readonly value: T
  /** Resolves when what was read may have changed, or the time is over. With false if it will be watched no more. */
  readonly changed: Promise<boolean>
  /** Watches no more, if nobody waits for a change. */
  end(): void
}

/** Work that runs without a request: delivering the outbox and running timers. */
export interface Background {
  /** Checks for due work. Called at the start, and when the clock may have changed. */
  wake(): void
  /** Ends waiting callers, begins no more work, and waits for deliveries in progress until `service.ending` is late. */
  end(): Promise<void>
  /** Delivers a charge that the caller wrote and claimed. Returns its result, or undefined if that is not known yet. */
  charge(message: CardRow): Promise<ChargeResult | undefined>
  /**
   * Moves a sandbox's clock, after earlier moves have ended, and does all work that is due until then, in order and
   * each at its time. `target` returns the new time, and `store` writes it down. Other processes rest until then, and
   * take the new time over. Throws what `target` and `store` throw.
   */
  moveClock(target: () => number, store: () => Promise<void>): Promise<void>
  /**
   * Runs a job that replaces the state or the clock: no process does due work until it ends. Then the other processes take
   * over clock and key.
   */
  rest<T>(job: () => Promise<T>, kind: 'clock' | 'state'): Promise<T>
  /** Runs a job that arms or disarms faults. Other processes then do the same. */
  share<T>(job: () => Promise<T>): Promise<T>
  /** The instance names of the processes that share the storage, this one first. Undefined if none may. */
  processes(): readonly string[] | undefined
  /**
   * Reads, and watches what it has read: rows, and parts of indexes. `changed` resolves when this process changes any of
   * it, when the storage hints that another one did, or after `ms`. With false if the service closes or `ending` fires.
   */
  watch<T>(options: Watching, read: (tx: Reader) => Promise<T>): Promise<Watched<T>>
  /** Resolves with true after a time, and with false if the service closes or `ending` fires. */
  pause(ms: number, ending?: AbortSignal): Promise<boolean>
  /**
   * On a stopped clock, resolves when all work is done that is due, but for deliveries whose ports take their time.
   * Undefined if there is none, and while the clock runs.
   */
  settling(): Promise<void> | undefined
}

/** The clock of a sandbox, which can be stopped and moved. */
export interface SandboxClock extends Clock {
  readonly mode: 'real' | 'manual'
  /** Manual mode stops the clock at the current time. */
  setMode(mode: 'real' | 'manual'): void
  setTo(ms: number): void
  /** The time of the clock that this one follows: what machines outside of the sandbox have. */
  realNow(): number
  /** The state to store, so that a restart continues at the same time. */
  state(): ClockState
  restore(state: ClockState): void
}

export interface ClockState {
  readonly mode: 'real' | 'manual'
  /** Milliseconds ahead of the real clock. In manual mode, the time itself. */
  readonly ms: number
}

/** Who may use a sandbox over HTTP, in addition to this machine. */
export interface SandboxAccess {
  /** The token with which remote callers use the controls. Never stored. */
  readonly controlToken: string | undefined
  /** In the spelling of browsers: `https://shop.example.test`. */
  readonly allowOrigins: readonly string[]
  /** In lower case. A host without a port is allowed at every port. */
  readonly allowHosts: readonly string[]
}

/** A state that is kept under a name. */
export interface NamedSnapshot {
  readonly name: string
  /** ISO 8601. */
  readonly at: string
  readonly rows: number
  readonly note?: string
  /** In memory. Nothing writes to it. */
  readonly storage: Storage
}

/** A fork that is reached over HTTP. */
export interface HttpFork {
  readonly id: string
  /** Its base URL. */
  readonly url: string
}

/** The forks of a service that are reached below its own URL. */
export interface HttpForks {
  /** Throws `sandbox_full`, and `StorageClosed` if the service is closed or closing. */
  create(): Promise<HttpFork>
  list(): readonly HttpFork[]
  /** Closes a fork. Throws `not_found`. */
  remove(id: string): Promise<void>
  /** The id of the fork that a path below the service's base URL belongs to. Undefined if it names none. */
  find(path: string): string | undefined
  /** Answers a request of a fork. The URL of the source holds the base path of the service. Throws `not_found`. */
  respond(id: string, request: Request, source: FetchSource): Promise<Response>
  close(): Promise<void>
}

/** The part of the context that only a sandbox has. */
export interface SandboxContext extends SandboxAccess {
  /** Whether a request has come over a network. From then on, upstream calls to private addresses need permission. */
  isServed: boolean
  readonly clock: SandboxClock
  /** Answers a request as this service does. It comes over no network, so it passes the guards. */
  respond(request: Request, source: FetchSource): Promise<Response>
  /** The collections that a snapshot may hold. */
  readonly collections: readonly AnyCollection[]
  /** The schemas of a snapshot. */
  readonly history: SchemaHistory
  /** Loads what creates the seed, the state after a reset. It throws an Error if the seed is wrong. */
  loadSeed(): Promise<(tx: Writer, service: ServiceContext) => Promise<void>>
  /** Loads every operation. */
  loadOperations(): Promise<readonly KnownOperation[]>
  /** Undefined until the start has ended. */
  measurements: Measurements | undefined
  /** How often each operation was called in this process: `createPayment v4`, or only the id without a version. */
  readonly calls: Map<string, number>
  /** Loads the whole route table, for controls that speak about operations. */
  loadRoutes(): Promise<readonly Route[]>
  /** Ids of approvals that `approvals.next()` has returned. It returns each only once, until the state is replaced. */
  readonly handedApprovals: LimitedMap<string, true>
  /** Credentials from seeds that this process added, by client id. */
  readonly seededClients: LimitedMap<string, SeededClient>
  /** By name. */
  readonly snapshots: Map<string, NamedSnapshot>
  readonly forks: HttpForks
  /** Forks the service for one use: as it is now, or as it was in the past. Throws `StateForgotten`. */
  openFork(past?: PastMoment): Promise<OpenFork>
}

/** A moment of the past to which a fork returns. */
export interface PastMoment {
  /** The state is that after this commit. */
  readonly commit: number
  /** Its time, in milliseconds. */
  readonly at: number
}

/** A fork for one use. */
export interface OpenFork {
  readonly service: ServiceContext
  close(): Promise<void>
}

/** An operation, as the sandbox lists it. */
export interface KnownOperation {
  readonly id: string
  readonly method: string
  readonly path: string
  /** Whether it is a control of the sandbox. */
  readonly isControl: boolean
  /** One without a version for a path without versions. */
  readonly versions: readonly { readonly version: string | undefined; readonly evidence: Evidence }[]
}

/** Client credentials from a seed. A user's secret is derived from the client id. */
export type SeededClient =
  | { readonly kind: 'account'; readonly name: string; readonly client_id: string; readonly client_secret: string }
  | { readonly kind: 'user'; readonly client_id: string }
