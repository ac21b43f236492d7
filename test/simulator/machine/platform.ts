import { atOnce } from '../../support/ciphers.js'

/**
 * What the platform does on its own while a simulation runs: keys and signatures are made on other threads, and modules
 * load. A simulation waits for these, and their results come in the order of their calls, so that each run is the same.
 */

const realTimeout = globalThis.setTimeout
const realImmediate = globalThis.setImmediate

/** How many answers of the platform are awaited. */
let underWay = 0
let last: Promise<unknown> = Promise.resolve()

const turn = (): Promise<void> => new Promise((resolve) => realImmediate(resolve))

/** Resolves when nothing goes on before more time passes. */
export async function settlePlatform(): Promise<void> {
  do await turn()
  while (underWay > 0)
}

function inOrder<T>(answer: Promise<T>): Promise<T> {
  underWay++
  const before = last
  const own = answer
    .finally(() => before.catch(() => {}))
    .finally(() => {
      underWay--
    })
  last = own.catch(() => {})
  return own
}

/** What the service does most, without a thread that must wake up for it. */
const quick: Readonly<Record<string, unknown>> = atOnce

const methods = [
  ...['decrypt', 'deriveBits', 'digest', 'encrypt', 'exportKey', 'generateKey', 'importKey', 'sign', 'verify'],
] as const

/** Watches the platform until the returned function is called. Longer timers go to `later`. */
export function watchPlatform(later: (ms: number, ring: () => void) => () => void): () => void {
  const subtle = Object.getPrototypeOf(globalThis.crypto.subtle)
  const originals = new Map<string, (...args: unknown[]) => Promise<unknown>>()
  for (const name of methods) {
    const original = subtle[name]
    originals.set(name, original)
    const own = quick[name] as ((...args: unknown[]) => unknown) | undefined
    subtle[name] = function (this: SubtleCrypto, ...args: unknown[]) {
      return inOrder(own ? new Promise((resolve) => resolve(own(...args))) : original.apply(this, args))
    }
  }
  const cancels = new Map<object, () => void>()
  const realClear = globalThis.clearTimeout
  const timeout = (ring: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    if (ms > 0) {
      const timer = { unref: () => timer, ref: () => timer, hasRef: () => false }
      cancels.set(
        timer,
        later(ms, () => {
          cancels.delete(timer)
          ring(...args)
        }),
      )
      return timer
    }
    underWay++
    return realImmediate(() => {
      underWay--
      ring(...args)
    })
  }
  const clear = (timer: unknown) => {
    const cancel = typeof timer === 'object' && timer !== null ? cancels.get(timer) : undefined
    if (cancel) cancel()
    else realClear(timer as NodeJS.Timeout)
  }
  Object.assign(globalThis, { setTimeout: timeout, clearTimeout: clear })
  return () => {
    for (const [name, original] of originals) subtle[name] = original
    Object.assign(globalThis, { setTimeout: realTimeout, clearTimeout: realClear })
  }
}
