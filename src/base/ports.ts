/** Ports: what the service needs from outside. Each has a default, so `createService()` works. */

import { visibleFailure, visibleLine } from './text/visible.js'

/** Bytes in memory of their own, as bodies take them. `Uint8Array` takes no argument before TypeScript 5.7, so none is named here. */
export type OwnBytes = ReturnType<Uint8Array['slice']>

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
  /** Resolves when the message is accepted. If it rejects, the message stays in the outbox and is tried again. */
  send(mail: Mail): Promise<void>
}

export interface PushMessage {
  /** The same for every try to deliver this message: an idempotency key. */
  readonly id: string
  /** `token`: what the device was registered with, such as an FCM registration token. */
  readonly device: { readonly platform: 'ios' | 'android' | 'web' | 'mobile'; readonly token: string }
  readonly title: string
  readonly body: string
  /** For the app that receives it. */
  readonly data: Readonly<Record<string, string>>
}

export interface Push {
  /** Resolves when the message is accepted. If it rejects, the message stays in the outbox and is tried again. */
  send(push: PushMessage): Promise<void>
}

/** A charge of a card. */
export interface CardCharge {
  /** An idempotency key: the same for every try of this charge, and unique among all charges. */
  readonly id: string
  /** The processor's id for a card, never card data. */
  readonly payment_method_id: string
  /**
   * Whether `payment_method_id` comes from `save` and so names a card on file. If false, a caller sent it, for example
   * from a form: the port must then decline the id of a card on file, which may be anybody's.
   */
  readonly on_file: boolean
  /** Digits: a count of 10^-decimals. Always whole hundredths. */
  readonly amount: string
  readonly decimals: number
  /**
   * The currency that is charged, such as `USD`: the shortcode of the digital quantity that it buys, or the currency
   * of the invoice.
   */
  readonly currency: string
  readonly description: string
}

export interface ChargedCard {
  readonly brand: string
  readonly last4: string
  readonly exp_month: number
  readonly exp_year: number
}

/** The result of a charge. `unavailable`: the processor did not answer, and nothing was charged. */
export type ChargeResult =
  | { readonly status: 'succeeded'; readonly charge_id: string; readonly card?: ChargedCard }
  | { readonly status: 'declined'; readonly reason: string }
  | { readonly status: 'unavailable' }

/** A full refund of one charge to its card. */
export interface CardRefund {
  /** An idempotency key: the same for every try of this refund, and unique among all refunds. */
  readonly id: string
  /** The `charge_id` from the result of the charge. */
  readonly charge_id: string
  /** Digits: a count of 10^-decimals. Always whole hundredths. */
  readonly amount: string
  readonly decimals: number
  readonly currency: string
}

/** The result of a refund. `refused`: the card certainly gets nothing back. */
export type RefundResult =
  | { readonly status: 'refunded'; readonly refund_id: string }
  | { readonly status: 'refused'; readonly reason: string }

/** A card to put on file for later charges, while its holder is present and agrees. */
export interface CardToSave {
  /** An idempotency key: the same for every try to save this card, and unique among all of them. */
  readonly id: string
  /** The processor's id for a card that was never charged, never card data. */
  readonly payment_method_id: string
}

/**
 * The result of saving a card. `payment_method_id`: the id for later charges, which may differ from the one that was
 * sent. `declined`: the card can't be charged later. `unavailable`: the processor did not answer.
 */
export type SaveResult =
  | { readonly status: 'saved'; readonly payment_method_id: string; readonly card: ChargedCard }
  | { readonly status: 'declined'; readonly reason: string }
  | { readonly status: 'unavailable' }

/** A payment method for tests, and the processor's answer to it. */
export interface TestPaymentMethod {
  readonly value: string
  readonly does: string
  readonly status: 'succeeded' | 'declined' | 'unavailable'
  /** Why it is declined. */
  readonly reason?: string
  readonly card?: ChargedCard
  /** It can be put on file, although charges of it are declined. */
  readonly saves?: true
  /** How long the answer takes, in seconds. */
  readonly after_seconds?: number
}

export interface Cards {
  /** Payment methods for tests, which charge nobody. A sandbox offers them. Default: none. */
  readonly testMethods?: readonly TestPaymentMethod[]
  /**
   * Puts a card on file, so that `charge` can charge it repeatedly without its holder. Charges nothing. If it rejects,
   * the service treats the result as `unavailable`.
   */
  save(card: CardToSave): Promise<SaveResult>
  /**
   * Charges once for each id, however often it is called, for at least three days: later calls return the result of the
   * first. If it rejects, the service does not know whether the card was charged, and calls again with the same id.
   */
  charge(charge: CardCharge): Promise<ChargeResult>
  /** Refunds once for each id, like `charge`. If it rejects, the service calls again with the same id. */
  refund(refund: CardRefund): Promise<RefundResult>
}

export interface UpstreamRequest {
  /** http or https, without user name, password and fragment. */
  readonly url: string
  /** `url` as logs may show it: without its query, and with `{secret.NAME}` in place of a seller's secret values. */
  readonly shownUrl: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Aborts the call, even while the body of the answer is arriving. */
  readonly signal: AbortSignal
  /**
   * Whether the port may connect to this address of the host in `url`. A port that cannot resolve names never calls
   * it.
   */
  mayConnect(address: string): boolean
}

export interface Upstream {
  /**
   * Sends the request and returns the answer with its body unread and decoded. Does not follow redirects. Rejects if no
   * answer comes. If the answer breaks off, its body errors.
   */
  fetch(request: UpstreamRequest): Promise<Response>
}

/** Fonts for characters that the package's own font lacks, such as Chinese. */
export interface Fonts {
  /**
   * Finds font files that together have as many of these characters as possible: TrueType outlines, as `.ttf` or
   * `.woff`. The first file that has a character shows it. If it rejects, the service logs that and creates the
   * document without.
   */
  find(characters: readonly string[]): Promise<readonly OwnBytes[]>
}

export interface Alarm {
  /**
   * Calls `ring` once, `ms` from now. Returns a function that cancels it. With 0 it is a turn of the event loop later. A
   * longer wait does not keep the process alive.
   */
  set(ms: number, ring: () => void): () => void
}

export interface Log {
  error(message: string, cause?: unknown): void
}

export const systemClock: Clock = { now: () => Date.now() }

/** Milliseconds since some moment, for measuring how long something takes. */
export const milliseconds = (): number => globalThis.performance.now()

/** The longest delay of `setTimeout`. A later alarm rings early, and the caller sets it again. */
const LONGEST_MS = 2 ** 31 - 1

export const systemAlarm: Alarm = {
  set(ms, ring) {
    const timer = setTimeout(ring, Math.min(Math.max(ms, 0), LONGEST_MS))
    // Browsers return a number, which does not keep anything alive.
    if (typeof timer === 'object' && ms > 0) timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Lets other calls run before a long piece of work goes on. Unlike an alarm, it keeps the process alive. */
export const letOthersRun = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

/** Keeps the process alive until a piece of work is done, even if an alarm is all that it waits for. */
export function keepAlive(work: Promise<void>): Promise<void> {
  const timer = setInterval(() => {}, 1000)
  return work.finally(() => clearInterval(timer))
}

/** The global `fetch`. It cannot check addresses, because the runtime resolves names itself. */
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

/** Draws random bytes in pools, because one system call for every few bytes costs more than a payment's ledger. */
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
      // Bytes that were handed out must not stay in memory here.
      pool.fill(0, used, used + count)
      used += count
      return taken
    },
  }
}

export const systemRandom: Random = pooledRandom()

/** Writes to the console, where texts of others show every character. */
export const consoleLog: Log = {
  error: (message, cause) => {
    const reason = cause === undefined ? '' : `: ${visibleFailure(cause)}`
    globalThis.console.error(`farthing: ${visibleLine(message)}${reason}`)
  },
}
