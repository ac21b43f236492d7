import type { ServiceContext } from '../../http/context.js'
import { maxAttemptMs } from './attempt.js'
import { type CheckoutRow, checkoutOfAttempt, checkouts } from './checkout.js'

/** How often an attempt shows that its process lives, and how long it may be silent before others consider it dead. */
const BEAT_MS = 1000
const DEAD_MS = 10_000

/**
 * Runs an attempt. While it runs, closing the service waits for it, timers leave it alone, and other processes see that
 * it lives.
 */
export function runAttempt<T>(attempt: string, running: Promise<T>, service: ServiceContext): Promise<T> {
  const stopBeating = service.storage.exclusive ? () => {} : beat(attempt, service)
  const tracked = running.finally(() => {
    stopBeating()
    service.ongoing.delete(attempt)
  })
  service.ongoing.set(attempt, tracked)
  return tracked
}

function beat(attempt: string, service: ServiceContext): () => void {
  const { alarm, storage, log } = service
  let isOver = false
  let cancel = () => {}
  const next = () => {
    cancel = alarm.set(BEAT_MS, () => {
      storage
        .write(async (tx) => {
          const checkout = await checkoutOfAttempt(tx, attempt)
          if (checkout) tx.put(checkouts, { ...checkout, attempt_beat: (checkout.attempt_beat ?? 0) + 1 })
        })
        .catch((cause: unknown) => log.error('cannot mark a checkout as being paid', cause))
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

/** Reports whether the attempt of a checkout is still running. Uses real time, whatever the service's clock says. */
export function watchAttempt(service: ServiceContext) {
  const { alarm, ongoing, storage } = service
  let seen: { attempt: string | null; attempt_beat: number | undefined } = { attempt: null, attempt_beat: undefined }
  let isSilent = false
  let isLate = false
  let cancelSilent = () => {}
  let cancelLate = () => {}

  function observe({ attempt, attempt_beat }: CheckoutRow): void {
    if (attempt !== seen.attempt) {
      cancelLate()
      isLate = false
      cancelLate = alarm.set(maxAttemptMs(service), () => {
        isLate = true
      })
    }
    if (attempt !== seen.attempt || attempt_beat !== seen.attempt_beat) {
      cancelSilent()
      isSilent = false
      // Older versions do not write a heartbeat.
      const wait = attempt_beat === undefined ? maxAttemptMs(service) : DEAD_MS
      cancelSilent = alarm.set(wait, () => {
        isSilent = true
      })
    }
    seen = { attempt, attempt_beat }
  }

  return {
    /** `stuck`: the process lives, but the attempt takes longer than any may. */
    check(checkout: CheckoutRow): Sign {
      if (checkout.attempt === null) return 'alive'
      observe(checkout)
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
