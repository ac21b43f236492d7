import type { Evidence } from '../base/evidence.js'
import type { UpstreamList } from '../base/ip-address.js'
import type { CardRow } from '../base/message.js'
import type { Alarm, Cards, ChargeResult, Clock, Fonts, Log, Mailer, Push, Random, Upstream } from '../base/ports.js'
import type { Keyring } from '../base/secrets.js'
import type { AnyCollection, Reader, Storage, Writer } from '../storage/storage.js'
import type { FindCaller } from './caller.js'

export interface Limits {
  /** The largest request body, in bytes. Default 1 MiB. */
  readonly bodyBytes: number
  /** The largest snapshot that a sandbox takes, in bytes. Default 1 GiB. */
  readonly snapshotBytes: number
  /** How long a payment's nonce can be validated, in seconds. Default 15 minutes. */
  readonly nonceSeconds: number
  /** How long an upstream service may take for all of its answer, in milliseconds. Default 30 seconds. */
  readonly upstreamMs: number
  /** The largest body that is taken of an upstream service, in bytes once decoded. Default 5 MiB. */
  readonly upstreamBytes: number
  /** How long the card processor may take for a charge, in milliseconds. Default 20 seconds. */
  readonly cardMs: number
  /** How many sign-in codes of one address may be unused within 15 minutes. Default 5. */
  readonly codes: number
}

/** What a handler works with beside its transaction: one service's ports and settings. */
export interface ServiceContext {
  readonly storage: Storage
  /** Names this service among all that there ever are over its storage. */
  readonly instance: string
  readonly clock: Clock
  readonly alarm: Alarm
  readonly random: Random
  /** A service that takes over another state takes over its key, unless it was given one. */
  keys: Keyring
  /** The key was not given: it is kept with the state. */
  readonly storesKey: boolean
  readonly mailer: Mailer
  readonly push: Push
  readonly fonts: Fonts | undefined
  readonly upstream: Upstream
  readonly allowUpstream: ((url: URL) => boolean) | UpstreamList | undefined
  /** A purchase whose endpoint fails is paid all the same. */
  readonly chargeOnUpstreamError: boolean
  /** Absent where no card can be charged. */
  readonly cards: Cards | undefined
  readonly log: Log
  readonly limits: Limits
  /** Where the service is reached, without a trailing slash. */
  readonly baseUrl: string
  /** The path of `baseUrl`, without a trailing slash: empty at the root. */
  readonly basePath: string
  /** What twins' hostnames end in. */
  readonly twinDomain: string
  readonly evidence: Evidence
  readonly accountCreation: boolean
  /** The calls of upstream services that are being made here, by their tokens. */
  readonly ongoing: Map<string, Promise<unknown>>
  readonly sandbox: SandboxContext | undefined
  readonly background: Background
  /** Finds who is calling. */
  readonly findCaller: FindCaller
  /** Names of the collections whose writes may end a caller's credential: that of a sandbox's clock too. */
  readonly credentialsIn: readonly string[]
  /** Throws `item_inactive` where a commodity is not for sale, to callers outside the account `within`. */
  checkForSale(tx: Reader, hash: string, within?: number): Promise<void>
  /** What ends when a user proves their email for the first time, by the features that know of it. */
  readonly onFirstProof: readonly OnFirstProof[]
  /** What changes when somebody signs in, by the features that know of it: each runs in the transaction that signs them in. */
  readonly onSignIn: readonly OnSignIn[]
  /** What ends with the connection of an app, by the features that know of it. */
  readonly onDisconnect: readonly OnDisconnect[]
  /** Tells whomever it concerns, by an event, that work failed too often and waits for an operator. Never rejects. */
  recordUnsettled(tx: Writer, parked: UnsettledWork): Promise<void>
}

/** A user who has just signed in by a code that was mailed to them. */
export interface SignedIn {
  readonly userId: number
  readonly email: string
  readonly sessionId: string
  /** Of the session that goes on under the new id. */
  readonly previousSessionId: string
  /** Whom that one was signed in as; null for a guest's. */
  readonly previousUserId: number | null
  readonly at: number
}

export type OnSignIn = (tx: Writer, signedIn: SignedIn) => Promise<void>

/** How many of something ended, and what it is called. */
export interface EndedCount {
  readonly count: number
  readonly one: string
  readonly many: string
}

export type OnFirstProof = (tx: Writer, proven: { readonly userId: number; readonly at: number }) => Promise<EndedCount>

export type OnDisconnect = (tx: Writer, ended: { readonly connectionId: number; readonly at: number }) => Promise<void>

/** Work that failed too often: a timer's job, or noting what came of a message. */
export interface UnsettledWork {
  /** `timer:1` or `message:1`. */
  readonly id: string
  /** The timer's kind, or the message's with its purpose: `card_topup`. */
  readonly kind: string
  /** What the work is done to: an id, or an address. */
  readonly subject: string
}

/** What a service does of itself: it delivers the outbox and runs timers. */
export interface Background {
  /** Looks for what is due: at the start, and whenever time may have passed unseen. */
  wake(): void
  /** Charges a card at once, by a message that the caller wrote taken: gives what came of it, or undefined where that is not known yet. */
  charge(message: CardRow): Promise<ChargeResult | undefined>
  /**
   * Moves a sandbox's clock, once it stands where the moves before left it, and does all that falls due until then,
   * in order and each at its time. Throws what `aim` throws, which says where to.
   */
  moveClock(aim: () => number): Promise<void>
  /** Resolves once one of these collections was written to here, after `ms` at the latest: with false where nothing will be waited for any more. */
  nextWrite(into: readonly string[], ms: number, ending?: AbortSignal): Promise<boolean>
}

/** One clock for every expiry, which a sandbox can stop and move. */
export interface SandboxClock extends Clock {
  readonly mode: 'real' | 'manual'
  /** In manual mode time stands still at the moment of the change. */
  setMode(mode: 'real' | 'manual'): void
  setTo(ms: number): void
  /** What to keep, so that a restart goes on at the same time. */
  state(): ClockState
  restore(state: ClockState): void
}

export interface ClockState {
  readonly mode: 'real' | 'manual'
  /** Milliseconds ahead of the real clock, or, in manual mode, the time itself. */
  readonly ms: number
}

/** Who may reach a sandbox over HTTP, beside this machine. */
export interface SandboxAccess {
  /** Opens the controls to callers elsewhere. Never stored. */
  readonly controlToken: string | undefined
  /** As browsers write them: `https://shop.example.test`. */
  readonly allowOrigins: readonly string[]
  /** In lower case, each with a port or for any. */
  readonly allowHosts: readonly string[]
}

/** What only a sandbox has. */
export interface SandboxContext extends SandboxAccess {
  /** A request came over a network: from then on, upstream calls to private addresses need to be allowed. */
  isServed: boolean
  readonly clock: SandboxClock
  /** What a snapshot may hold rows of. */
  readonly collections: readonly AnyCollection[]
  /** Makes the seed, which a reset goes back to, of the service's key. Throws what is wrong with it. */
  plantSeed(tx: Writer, service: ServiceContext): Promise<void>
  /** Ids of the approvals that `approvals.next()` gave, each once, until the state is another. */
  readonly handedApprovals: Set<string>
}
