/** As the module loads: pages and tests replace globals later. Unlike timers, no fake clock stops it or is moved by it. */
const { MessageChannel: Channel } = globalThis as Partial<typeof globalThis>

/** Resolves in a later turn of the event loop, and leaves nothing that keeps the process alive. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    // Then nothing but a timer is left, and that may be a test's.
    if (!Channel) return resolve()
    const { port1, port2 } = new Channel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
}

/** A turn costs some 50 µs, so an answer pays less than one. */
const ANSWERS_A_TURN = 100

export type GiveWay = <T>(answer: Promise<T>) => Promise<T>

/**
 * Holds back every hundredth answer for a turn of the event loop. A storage in memory answers without one, so whoever
 * asks again and again without waiting would let no timer and no socket run.
 */
export function givesWay(): GiveWay {
  let answers = 0
  return (answer) => (++answers % ANSWERS_A_TURN === 0 ? answer.finally(nextTurn) : answer)
}
