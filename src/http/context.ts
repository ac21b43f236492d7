import type { Evidence } from '../base/evidence.js'
import type { UpstreamList } from '../base/ip-address.js'
import type { CardRow } from '../base/message.js'
import type { Alarm, Cards, ChargeResult, Clock, Fonts, Log, Mailer, Push, Random, Upstream } from '../base/ports.js'
import type { Keyring } from '../base/secrets.js'
import type { AnyCollection, Reader, Storage, Writer } from '../storage/storage.js'
import type { FindCaller } from './caller.js'

export interface Limits {
  /** The largest request body, in bytes. Default: 1 MiB. */
  readonly bodyBytes: number
  /** The largest snapshot that a sandbox accepts, in bytes. Default: 1 GiB. */
  readonly snapshotBytes: number
  /** How long a payment's nonce can be validated, in seconds. Default: 15 minutes. */
  readonly nonceSeconds: number
  /** How long an upstream service may take for its whole answer, in milliseconds. Default: 30 seconds. */
  readonly upstreamMs: number
  /** The largest decoded body that an upstream service may answer with, in bytes. Default: 5 MiB. */
  readonly upstreamBytes: number
  /** How long the card processor may take for a charge, in milliseconds. Default: 20 seconds. */
  readonly cardMs: number
  /** How many unused sign-in codes one address may get within 15 minutes. Default: 5. */
  readonly codes: number
}

/** The ports and settings of one service. Handlers get it together with their transaction. */
export interface ServiceContext {
  readonly storage: Storage
  /** A random name that distinguishes this service from every other one, past or present, over its storage. */
  readonly instance: string
  readonly clock: Clock
  readonly alarm: Alarm
  readonly random: Random
  /** A service that loads a different state also takes its key, unless the key comes from an option. */
  keys: Keyring
  /** Whether the key is stored with the state, because no option sets it. */
  readonly storesKey: boolean
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
  readonly limits: Limits
  /** The URL of the service, without a trailing slash. */
  readonly baseUrl: string
  /** The path of `baseUrl`, without a trailing slash. Empty at the root. */
  readonly basePath: string
  /** The ending of twins' hostnames. */
  readonly twinDomain: string
  readonly evidence: Evidence
  readonly accountCreation: boolean
  /** Upstream calls in progress in this process, by their tokens. */
  readonly ongoing: Map<string, Promise<unknown>>
  readonly sandbox: SandboxContext | undefined
  readonly background: Background
  /** Authenticates callers. */
  readonly findCaller: FindCaller
  /** Names of the collections whose writes may end a credential, including that of a sandbox's clock. */
  readonly credentialsIn: readonly string[]
  /** Checks that a commodity is for sale to callers outside the account `within`. Throws `item_inactive`. */
  checkForSale(tx: Reader, hash: string, within?: number): Promise<void>
  /** What features end when a user first proves their email. */
  readonly onFirstProof: readonly OnFirstProof[]
  /** What features do when somebody signs in, in the transaction that signs them in. */
  readonly onSignIn: readonly OnSignIn[]
  /** What features end when an app is disconnected. */
  readonly onDisconnect: readonly OnDisconnect[]
  /** Writes an event for the owners of work that failed too often and waits for an operator. Never rejects. */
  recordUnsettled(tx: Writer, parked: UnsettledWork): Promise<void>
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

/** How many things of one kind ended, and what they are called. */
export interface EndedCount {
  readonly count: number
  readonly one: string
  readonly many: string
}

export type OnFirstProof = (tx: Writer, proven: { readonly userId: number; readonly at: number }) => Promise<EndedCount>

export type OnDisconnect = (tx: Writer, ended: { readonly connectionId: number; readonly at: number }) => Promise<void>

/** Work that failed too often: a timer's job, or recording the outcome of a message. */
export interface UnsettledWork {
  /** `timer:1` or `message:1`. */
  readonly id: string
  /** The kind of a timer, or the kind and purpose of a message, such as `card_topup`. */
  readonly kind: string
  /** The id or address that the work is about. */
  readonly subject: string
}

/** Work that runs without a request: delivering the outbox and running timers. */
export interface Background {
  /** Checks for due work. Called at the start, and when the clock may have changed. */
  wake(): void
  /** Delivers a charge that the caller wrote and claimed. Returns its result, or undefined if that is not known yet. */
  charge(message: CardRow): Promise<ChargeResult | undefined>
  /**
   * Moves a sandbox's clock, after earlier moves have ended, and does all work that is due until then, in order and
   * each at its time. `target` returns the new time. Throws what `target` throws.
   */
  moveClock(target: () => number): Promise<void>
  /**
   * Resolves when this process writes to one of these collections, or after `ms`. Resolves with false if the service
   * closes or `ending` fires.
   */
  nextWrite(into: readonly string[], ms: number, ending?: AbortSignal): Promise<boolean>
}

/** The clock of a sandbox, which can be stopped and moved. */
export interface SandboxClock extends Clock {
  readonly mode: 'real' | 'manual'
  /** Manual mode stops the clock at the current time. */
  setMode(mode: 'real' | 'manual'): void
  setTo(ms: number): void
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

/** The part of the context that only a sandbox has. */
export interface SandboxContext extends SandboxAccess {
  /** Whether a request has come over a network. From then on, upstream calls to private addresses need permission. */
  isServed: boolean
  readonly clock: SandboxClock
  /** The collections that a snapshot may hold. */
  readonly collections: readonly AnyCollection[]
  /** Creates what the seed describes, the state after a reset. Throws an Error if the seed is wrong. */
  plantSeed(tx: Writer, service: ServiceContext): Promise<void>
  /** Ids of approvals that `approvals.next()` has returned. It returns each only once, until the state is replaced. */
  readonly handedApprovals: Set<string>
}
