import type { Evidence } from '../base/evidence.js'
import type { UpstreamList } from '../base/ip-address.js'
import type { CardRow } from '../base/message.js'
import type { Parts } from '../base/parts.js'
import type { Alarm, Cards, ChargeResult, Clock, Fonts, Log, Mailer, Push, Random, Upstream } from '../base/ports.js'
import type { Problem } from '../base/problem.js'
import type { Keyring } from '../base/secrets.js'
import type { SharedPlaces } from '../base/shared-places.js'
import type { DialectOptions } from '../base/token-network.js'
import type { ServiceStorage } from '../storage/service-storage.js'
import type { Reader, Storage, Writer } from '../storage/storage.js'
import type { CommitRecord } from '../storage/transaction.js'
import type { AroundRequests } from './around.js'
import type { FindCaller } from './caller.js'
import type { ServiceEnding } from './ending.js'
import type { HeldBodies, WaitingRequests } from './fields/intake.js'
import type { Limits } from './limits.js'
import type { Recorder } from './recorder.js'
import type { Principal } from './route.js'

/** The ports and settings of one service. Handlers get it together with their transaction. */
export interface ServiceContext {
  readonly storage: ServiceStorage
  /** A random name that distinguishes this service from every other one, past or present, over its storage. */
  readonly instance: string
  readonly clock: Clock
  readonly alarm: Alarm
  readonly random: Random
  /** Only `stateKey` sets it. */
  keys: Keyring
  readonly stateKey: StateKey
  readonly mailer: Mailer
  readonly push: Push
  readonly upstream: Upstream
  readonly allowUpstream: ((url: URL) => boolean) | UpstreamList | undefined
  /** Undefined if the service cannot charge cards. */
  readonly cards: Cards | undefined
  readonly log: Log
  /** The URL of the service, without a trailing slash. */
  readonly baseUrl: string
  readonly limits: Limits
  readonly options: FixedOptions
  readonly intake: Intake
  readonly ending: ServiceEnding
  /** The claims on which this process works, each with the flow that closing waits for, if any. */
  readonly ongoing: Map<string, Promise<unknown> | undefined>
  readonly background: Background
  readonly sandbox: SandboxContext | undefined
  /** Learns of requests, timers and deliveries. Undefined if nobody wants to know. */
  recorder: Recorder | undefined
  readonly rules: LaterRules
  /** Writes an event for the owners of work that failed too often and waits for an operator. Never rejects. */
  recordDeadLetter(tx: Writer, parked: DeadLetterSource): Promise<void>
}

/** The key that encrypts the state. */
export interface StateKey {
  /** By the key that an option sets. Undefined if the key is stored with the state. */
  readonly given: Keyring | undefined
  /** Takes the key of a different state. Calls that are running go on with the former one. */
  change(keys: Keyring): void
}

/** What the options of a service say, once and for all. */
export interface FixedOptions {
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
  /** What the bundle of this service holds of what it may leave out. */
  readonly parts: Parts
  /** Whether a purchase is charged even if its endpoint fails. */
  readonly chargeOnUpstreamError: boolean
  readonly fonts: Fonts | undefined
  readonly dialects: DialectOptions
}

/** What a service takes in, in this process. */
export interface Intake {
  readonly waiting: WaitingRequests
  readonly bodies: HeldBodies
  /** The streams that are open. */
  readonly streams: SharedPlaces
  /** Whether the start has ended, and well. */
  hasStarted(): boolean
}

/** The rules of later features that earlier ones need. */
export interface LaterRules {
  /** The owner whose limits count what an owner causes. */
  responsibleFor(tx: Reader, owner: string): Promise<string>
  /** The generation of a user, in which what they make is valid. 0 of every other owner. */
  generationOf(tx: Reader, owner: string): Promise<number>
  /** Authenticates callers. */
  readonly findCaller: FindCaller
  /** Counts a new row of the collection `kind` for its maker: an owner, or a public client address. Throws `too_many_new`. */
  countNew(tx: Writer, kind: string, maker: Maker, service: Limiting): Promise<void>
  /** Counts the bytes of an answer that is to be stored. False if its maker has reached `limits.storedBytesPerDay`. */
  countStored(tx: Writer, bytes: number, maker: Maker, service: Limiting): Promise<boolean>
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
}

/** What a daily limit needs of its service. */
export type Limiting = Pick<ServiceContext, 'limits' | 'clock' | 'sandbox'>

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
  /** `end` ends at most `most` of a lower generation, all dead already, and runs again. Absent: it ends everything. */
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
  /** Runs a job that replaces the state or the clock, while no process does due work. The others then take clock and key over. */
  rest<T>(job: () => Promise<T>, kind: 'clock' | 'state'): Promise<T>
  /** Runs a job that arms or disarms faults. Other processes then do the same. */
  share<T>(job: () => Promise<T>): Promise<T>
  /** The instance names of the processes that share the storage, this one first. Undefined if none may. */
  processes(): readonly string[] | undefined
  /**
   * Reads, and watches what it has read: rows, and parts of indexes. `changed` resolves when this process changes any of
   * it, when the storage hints that another one did, when the state is replaced, or after `ms`. With false if the service
   * closes or `ending` fires. What is read through `unwatched` is not watched.
   */
  watch<T>(options: Watching, read: (tx: Reader, unwatched: Reader) => Promise<T>): Promise<Watched<T>>
  /** Resolves with true after a time, and with false if the service closes or `ending` fires. */
  pause(ms: number, ending?: AbortSignal): Promise<boolean>
  /** On a stopped clock, resolves when all due work is done, but for slow ports. Undefined if there is none, or the clock runs. */
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

/** What a service knows of the sandbox that is around it: see `src/sandbox/onion/`. */
export interface SandboxContext {
  /** Whether a request has come over a network. From then on, upstream calls to private addresses need permission. */
  isServed: boolean
  readonly clock: SandboxClock
  readonly requests: AroundRequests
  /** Takes each commit that has landed. */
  onCommit(commit: CommitRecord): void
}

export interface StoreOptions {
  /** Used only if the call breaks off before it stores its final answer. */
  readonly provisional?: boolean
}

/**
 * Stores an answer under the caller's Idempotency-Key, if there is one, in the transaction that changes something.
 * Returns the answer. Throws `idempotency_in_progress`, which undoes the change, if another call has taken the key over.
 */
export type StoreAnswer<Answer> = <Given extends Answer>(
  tx: Writer,
  answer: Given,
  options?: StoreOptions,
) => Promise<Given>

/** Stores nothing: for calls without a key. Returns the answer. */
export const storeNothing = async <T>(_tx: Writer, answer: T): Promise<T> => answer
