import { constants } from 'node:os'

export type StopSignal = 'SIGINT' | 'SIGTERM'

const stopSignals: readonly StopSignal[] = ['SIGINT', 'SIGTERM']

/** npm forwards signals that the terminal has already sent to all processes, so one Ctrl+C arrives twice. */
const SAME_MS = 100

/** Resolves at the first signal to stop. A second one ends the process at once. */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let first: number | undefined
    for (const signal of stopSignals)
      process.on(signal, () => {
        if (first === undefined) {
          first = performance.now()
          resolve(signal)
        } else if (performance.now() - first > SAME_MS) process.exit(codeOf(signal))
      })
  })
}

/** The exit code that shells use for a process that a signal ended. */
export const codeOf = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]
