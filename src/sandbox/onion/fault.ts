import type { Cards, Mailer, OwnBytes, Push, Upstream } from '../../base/ports.js'
import type { ServiceContext } from '../../http/context.js'
import type { AroundWrites } from '../../storage/service-storage.js'
import type { StorageUnavailable } from '../../storage/storage.js'

/** The header that makes a fault for its own request: `after_commit; drop`. Only who may use the controls may send it. */
export const FAULT_HEADER = 'x-sandbox-fault'

/** What a service calls outside of itself. */
export type FaultPort = 'storage' | 'mail' | 'push' | 'card' | 'upstream' | 'webhook'

/** `before`: it happens instead of the handler or the call. `after_commit`: it has happened. `mid_body`: as the answer leaves. */
export type FaultPoint = 'before' | 'after_commit' | 'mid_body'

/** What an answer of x402 says, in place of what happened, or of what is due. */
export type X402Mode =
  | 'success_false'
  | 'settlement_pending'
  | 'settlement_pending_always'
  | 'wrong_payer'
  | 'other_receipt'
  | 'late'
  | 'expensive_offer'

/** What a fault does. It has exactly one field, but `body` and `retry_after` may come with `status`. */
export interface FaultAction {
  /** Answers with this status, and with `body` as JSON, or as text if it is a string. */
  readonly status?: number | undefined
  readonly body?: unknown
  /** The header `Retry-After` of the answer with `status`, in seconds. */
  readonly retry_after?: number | undefined
  /** Waits for this many milliseconds. */
  readonly delay_ms?: number | undefined
  /** Closes the connection without an answer. */
  readonly drop?: true | undefined
  /** Does the same once more. The caller gets the second answer. */
  readonly duplicate?: true | undefined
  /** Sends this many bytes of the body, then closes the connection. */
  readonly truncate?: number | undefined
  /** Sends this many bytes of the body a second. */
  readonly drip?: number | undefined
  /** Raises the price of what the request pays for by this many percent, before it is paid. It stays so. */
  readonly raise_price?: number | undefined
  /** Lets a payment by x402 settle, and answers something else than what happened. `expensive_offer` changes a 402. */
  readonly x402?: X402Mode | undefined
  /** The code with which a call of a port fails, such as `ENOSPC`. */
  readonly error?: string | undefined
}

/** A failure that a test makes on purpose. */
export interface Fault {
  /** Default: `fault_1` and so on. */
  readonly id?: string | undefined
  /** What it happens to. An empty object matches every request. */
  readonly match: {
    readonly operation_id?: string | undefined
    readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | undefined
    /** The path below the base URL, or with `port` the path of the called URL. `*` stands for any characters. */
    readonly path?: string | undefined
    /** `account:1`, `user:2`, `agent:3` and so on. */
    readonly principal?: string | undefined
    /** Calls of a port, instead of requests. */
    readonly port?: FaultPort | undefined
  }
  readonly at: FaultPoint
  readonly do: FaultAction
  /** How often it happens. Default: always. */
  readonly times?: number | undefined
  /** Only every nth match: 3 matches the third, the sixth and so on. */
  readonly every?: number | undefined
  /** How likely it is, from 0 to 1. Default: 1. */
  readonly probability?: number | undefined
  /** Draws the probability in the same way each time. Default: the number of the fault. */
  readonly seed?: number | undefined
  /** The end, in Unix seconds or ISO 8601. By the service's clock. */
  readonly until?: number | string | undefined
}

/** A fault that is armed. */
export interface ArmedFault extends Fault {
  readonly id: string
  /** How often it has happened. */
  readonly fired: number
}

/** A fault that all processes of a shared storage arm. */
export interface SharedFault extends Fault {
  readonly id: string
  /** Its place among all that were armed. Its seed, if it has none. */
  readonly number: number
  /** Names this arming of it: a fault that is armed anew counts anew. */
  readonly arming: string
}

/** What all processes of a shared storage have counted of a fault. */
export interface FaultCount {
  readonly arming: string
  readonly matched: number
  readonly fired: number
}

/** An answer that a fault may change. */
export interface FaultyAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string | OwnBytes | ReadableStream<Uint8Array> | null
}

/** A request to which faults may happen. */
export interface FaultyRequest {
  readonly operationId: string
  readonly method: string
  readonly path: string
  /** The fault of its own header. */
  readonly header: string | null
  readonly takesBody: boolean
  /** Who calls: `account:1`. Null for calls without credentials. */
  principal(): Promise<string | null>
  /** Does what it asks. May be called twice. */
  run(): Promise<FaultyAnswer>
  /** The hash of the commodity, or the id of the catalog item, that it pays for. Undefined if it pays for none. */
  readonly paysFor: string | number | undefined
  /** The fields of its body, as they were sent. */
  readonly fields: Readonly<Record<string, unknown>>
  /** The service that it reaches. */
  readonly service: ServiceContext | undefined
  /** Notes a fault that happens. `isLost`: its caller must not see anything of the answer. */
  note(faultId: string, options: { readonly isLost: boolean }): void
}

/** Gets the id of a fault that happens. */
export type NoteFault = (faultId: string) => void

/** What a service calls outside of its storage. */
export interface OutwardPorts {
  readonly mailer: Mailer
  readonly push: Push
  readonly cards: Cards | undefined
  readonly upstream: Upstream
}

/** The same ports, whose calls run within `call`, and whose requests `fetch` makes. */
export const portsWithin = (
  { mailer, push, cards }: OutwardPorts,
  call: <T>(port: 'mail' | 'push' | 'card', run: () => Promise<T>) => Promise<T>,
  fetch: Upstream['fetch'],
): OutwardPorts => ({
  mailer: { send: (mail) => call('mail', () => mailer.send(mail)) },
  push: { send: (message) => call('push', () => push.send(message)) },
  cards: cards && {
    ...(cards.testMethods && { testMethods: cards.testMethods }),
    save: (card) => call('card', () => cards.save(card)),
    charge: (charge) => call('card', () => cards.charge(charge)),
    refund: (refund) => call('card', () => cards.refund(refund)),
  },
  upstream: { fetch },
})

/** A call of a port to which faults may happen. */
export interface FaultyCall<T> {
  readonly port: FaultPort
  readonly note?: NoteFault | undefined
  /** Of an upstream call. */
  readonly method?: string
  readonly path?: string
  run(): Promise<T>
  /** What the port returns for the answer of a fault. */
  answer?(answer: FaultyAnswer): T
}

/** Faults that are checked. Arm or cancel them. */
export interface PreparedFaults {
  arm(): ArmedFault[]
  cancel(): void
}

/** Makes the armed faults happen. */
export interface FaultEngine {
  /** Answers a request. Throws `header_malformed` for a wrong header, and `AnswerDropped`. */
  perform(request: FaultyRequest): Promise<FaultyAnswer>
  call<T>(call: FaultyCall<T>): Promise<T>
  readonly write: AroundWrites
  /** Whether a fault made this failure of a write. */
  isOwn(error: unknown): error is StorageUnavailable
  /**
   * Checks faults that are armed later, all of them or none. Throws `field_invalid`, which names the field, in the list
   * `within` if there is one, and `already_exists`.
   */
  prepare(faults: readonly Fault[], within?: string): Promise<PreparedFaults>
  /** Checks faults that are armed later in place of all others. Returns what arms them. Throws like `prepare`. */
  prepareAnew(faults: readonly Fault[], within: string): Promise<() => void>
  /** The armed faults, with what all processes have counted. */
  list(): Promise<ArmedFault[]>
  shared(): SharedFault[]
  /** Arms these faults in place of all others. Those that are armed already stay as they are. */
  follow(faults: readonly SharedFault[]): void
  disarm(id: string): void
  clear(): void
}

/**
 * The faults of a sandbox. They are no part of the state. Where several processes share a storage, all arm the same ones,
 * and count together.
 */
export interface Faults {
  /** Undefined while none is armed, so that work without faults only looks here. */
  engine: FaultEngine | undefined
  /** Loads the engine, also while none is armed. */
  load(): Promise<FaultEngine>
  /** What the service calls, for one request, timer or delivery: `note` gets the faults that happen to it. */
  over(note: NoteFault): OutwardPorts
  /**
   * Checks the faults of the seed. Returns what arms them, and no others: undefined if there is nothing to do. Throws
   * `field_invalid`, `already_exists`.
   */
  prepareReset(): Promise<(() => void) | undefined>
  /** The faults that other processes are to arm too. Undefined if none has been armed here. */
  shared(): readonly SharedFault[] | undefined
  /** Arms the faults that a different process has armed, and no others. */
  follow(faults: readonly SharedFault[]): Promise<void>
}
