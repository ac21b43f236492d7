import type { ServiceContext } from '../../http/context.js'
import { longestTry } from './attempt.js'
import { type CheckoutRow, checkoutOfTry, checkouts } from './checkout.js'

/** How often a try says that its process lives, and how long it may say nothing before others take it for dead. */
const BEAT_MS = 1000
const DEAD_MS = 10_000

/** Runs a try. A service that closes waits for it, no timer takes it for dead, and other processes over the storage see that it lives. */
export function underway<T>(attempt: string, trying: Promise<T>, service: ServiceContext): Promise<T> {
  const stopBeating = service.storage.exclusive ? () => {} : beat(attempt, service)
  const tried = trying.finally(() => {
    stopBeating()
    service.ongoing.delete(attempt)
  })
  service.ongoing.set(attempt, tried)
  return tried
}

function beat(attempt: string, service: ServiceContext): () => void {
  const { alarm, storage, log } = service
  let isOver = false
  let cancel = () => {}
  const next = () => {
    cancel = alarm.set(BEAT_MS, () => {
      storage
        .write(async (tx) => {
          const checkout = await checkoutOfTry(tx, attempt)
          if (checkout) tx.put(checkouts, { ...checkout, attempt_beat: (checkout.attempt_beat ?? 0) + 1 })
        })
        .catch((cause: unknown) => log.error('a checkout could not be marked as being paid', cause))
        .finally(() => !isOver && next())
    })
  }
  next()
  return () => {
    isOver = true
    cancel()
  }
}

export type Sign = 'alive' | 'dead' | 'stuck'

/** Tells from look to look whether the try that a checkout is taken for is still made: in real time, whatever the service's clock does. */
export function tryWatch(service: ServiceContext) {
  const { alarm, ongoing, storage } = service
  let seen: { attempt: string | null; attempt_beat: number | undefined } = { attempt: null, attempt_beat: undefined }
  let isSilent = false
  let isLate = false
  let cancelSilent = () => {}
  let cancelLate = () => {}

  function note({ attempt, attempt_beat }: CheckoutRow): void {
    if (attempt !== seen.attempt) {
      cancelLate()
      isLate = false
      cancelLate = alarm.set(longestTry(service), () => {
        isLate = true
      })
    }
    if (attempt !== seen.attempt || attempt_beat !== seen.attempt_beat) {
      cancelSilent()
      isSilent = false
      // A try of an older version says nothing while it runs.
      const wait = attempt_beat === undefined ? longestTry(service) : DEAD_MS
      cancelSilent = alarm.set(wait, () => {
        isSilent = true
      })
    }
    seen = { attempt, attempt_beat }
  }

  return {
    /** `stuck`: its process lives, and it takes longer than any try may. */
    look(checkout: CheckoutRow): Sign {
      if (checkout.attempt === null) return 'alive'
      note(checkout)
      if (ongoing.has(checkout.attempt)) return isLate ? 'stuck' : 'alive'
      if (storage.exclusive || isSilent) return 'dead'
      return isLate ? 'stuck' : 'alive'
    },
    stop(): void {
      cancelSilent()
      cancelLate()
    },
  }
}
