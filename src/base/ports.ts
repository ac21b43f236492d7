/** What the outside must offer the service. Each port has a default, so `createService()` works. */

export interface Clock {
  /** Unix time in milliseconds. */
  now(): number
}

export interface Random {
  /** `count` bytes that nobody can guess. */
  bytes(count: number): Uint8Array
}

export interface Mail {
  /** The same for every try to deliver this message: an idempotency key. */
  readonly id: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

export interface Mailer {
  /** Resolves when the message is taken over; a rejection leaves it in the outbox, to be tried again. */
  send(mail: Mail): Promise<void>
}

export interface PushMessage {
  /** The same for every try to deliver this message: an idempotency key. */
  readonly id: string
  /** `token`: as the device was registered, such as an FCM registration token. */
  readonly device: { readonly platform: 'ios' | 'android' | 'web'; readonly token: string }
  readonly title: string
  readonly body: string
  /** For the app that gets it. */
  readonly data: Readonly<Record<string, string>>
}

export interface Push {
  /** Resolves when the message is taken over; a rejection leaves it in the outbox, to be tried again. */
  send(push: PushMessage): Promise<void>
}

/** An amount to be charged to a card. */
export interface CardCharge {
  /** The same for every try of this charge, and of no other anywhere: an idempotency key. */
  readonly id: string
  /** The processor's own name for a card: never card data. */
  readonly payment_method_id: string
  /**
   * Whether that is a name that `save` gave, for a card on file. Else a caller gave it, such as a form in a page makes it: what names
   * a card on file is then to be declined, as it may be anybody's.
   */
  readonly on_file: boolean
  /** In digits, a count of 10^-decimals; whole hundredths. */
  readonly amount: string
  readonly decimals: number
  /** The shortcode of the digital quantity that it buys, or the currency that is billed: `USD`. */
  readonly currency: string
  readonly description: string
}

export interface ChargedCard {
  readonly brand: string
  readonly last4: string
  readonly exp_month: number
  readonly exp_year: number
}

/** What came of a charge. `unavailable`: the processor did not answer, and it is known that nothing was charged. */
export type ChargeResult =
  | { readonly status: 'succeeded'; readonly charge_id: string; readonly card?: ChargedCard }
  | { readonly status: 'declined'; readonly reason: string }
  | { readonly status: 'unavailable' }

/** An amount to be given back to the card that it was charged to: all of one charge. */
export interface CardRefund {
  /** The same for every try of this refund, and of no other anywhere: an idempotency key. */
  readonly id: string
  /** Of the charge, as its result named it. */
  readonly charge_id: string
  /** In digits, a count of 10^-decimals; whole hundredths. */
  readonly amount: string
  readonly decimals: number
  readonly currency: string
}

/** What came of a refund. `refused`: it is known that the card gets nothing back. */
export type RefundResult =
  | { readonly status: 'refunded'; readonly refund_id: string }
  | { readonly status: 'refused'; readonly reason: string }

/** A payment method to be kept for charges to come, while its holder is there to agree. */
export interface CardToSave {
  /** The same for every try of this saving, and of no other anywhere: an idempotency key. */
  readonly id: string
  /** The processor's own name for a card that was never charged: never card data. */
  readonly payment_method_id: string
}

/**
 * What came of saving. `payment_method_id`: what charges name the card by from now on, which may be another name than was given.
 * `declined`: the card can't be charged later. `unavailable`: the processor did not answer.
 */
export type SaveResult =
  | { readonly status: 'saved'; readonly payment_method_id: string; readonly card: ChargedCard }
  | { readonly status: 'declined'; readonly reason: string }
  | { readonly status: 'unavailable' }

/** A payment method that a card processor knows in tests, and what it answers. */
export interface TestPaymentMethod {
  readonly value: string
  readonly does: string
  readonly status: 'succeeded' | 'declined' | 'unavailable'
  /** Why it is declined. */
  readonly reason?: string
  readonly card?: ChargedCard
  /** Can be put on file, although it is declined when it is charged. */
  readonly saves?: true
  /** How long it takes to answer, in seconds. */
  readonly after_seconds?: number
}

export interface Cards {
  /** Payment methods to test with, which charge nobody: a sandbox offers them. None where absent. */
  readonly testMethods?: readonly TestPaymentMethod[]
  /**
   * Has the processor keep a card, so that `charge` can charge it again and again while nobody is there. Charges nothing.
   * A rejection is taken for `unavailable`.
   */
  save(card: CardToSave): Promise<SaveResult>
  /**
   * Charges once for each id, however often it is called with it, for three days at least: later calls give what came of
   * the first. A rejection says that it is not known whether the card was charged; it is called again with the same id.
   */
  charge(charge: CardCharge): Promise<ChargeResult>
  /** Gives back once for each id, as `charge` charges. A rejection: it is called again with the same id. */
  refund(refund: CardRefund): Promise<RefundResult>
}

export interface UpstreamRequest {
  /** http or https, without user name, password and fragment. */
  readonly url: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Ends the call, also while the answer's body comes. */
  readonly signal: AbortSignal
  /** Judges an address that the name in `url` stands for, before it is connected to; a port that cannot resolve names never asks. */
  mayConnect(address: string): boolean
}

export interface Upstream {
  /**
   * The answer, its body unread and, where it came encoded, decoded. Redirects are not followed.
   * Rejects where no answer came; where one breaks off, its body errors.
   */
  fetch(request: UpstreamRequest): Promise<Response>
}

/** Fonts for letters that the package's own font lacks, such as Chinese ones. */
export interface Fonts {
  /**
   * Font files that have as many of these characters as can be: TrueType outlines, as `.ttf` or `.woff`. Where two have a character,
   * the first shows it. A rejection is told to the log, and the document is made without.
   */
  find(characters: readonly string[]): Promise<readonly Uint8Array<ArrayBuffer>[]>
}

export interface Alarm {
  /** Calls back once, `ms` from now; what it gives calls that off. Keeps no process alive. */
  set(ms: number, ring: () => void): () => void
}

export interface Log {
  error(message: string, cause?: unknown): void
}

export const systemClock: Clock = { now: () => Date.now() }

/** What `setTimeout` takes. A later time is looked at again then. */
const LONGEST_MS = 2 ** 31 - 1

export const systemAlarm: Alarm = {
  set(ms, ring) {
    const timer = setTimeout(ring, Math.min(Math.max(ms, 0), LONGEST_MS))
    // Browsers give a number, which keeps nothing alive.
    if (typeof timer === 'object') timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Sees no addresses, only names: these are resolved out of its sight. */
export const systemUpstream: Upstream = {
  fetch: ({ url, method, headers, body, signal }) =>
    globalThis.fetch(url, {
      method,
      headers,
      body,
      signal,
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
    }),
}

const POOL_BYTES = 4096

/** Random bytes come from the system in pools: a call of its own for each few bytes costs more than a payment's ledger. */
function pooledRandom(): Random {
  let pool = new Uint8Array(0)
  let used = 0
  return {
    bytes(count) {
      if (count > POOL_BYTES) return globalThis.crypto.getRandomValues(new Uint8Array(count))
      if (used + count > pool.length) {
        pool = globalThis.crypto.getRandomValues(new Uint8Array(POOL_BYTES))
        used = 0
      }
      const taken = pool.slice(used, used + count)
      // What was given out is not to be found here again.
      pool.fill(0, used, used + count)
      used += count
      return taken
    },
  }
}

export const systemRandom: Random = pooledRandom()

export const consoleLog: Log = {
  error: (message, cause) => globalThis.console.error(`farthing: ${message}`, ...(cause === undefined ? [] : [cause])),
}
