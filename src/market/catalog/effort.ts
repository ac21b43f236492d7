/** Thrown when a check needs more steps than its limit. */
export class EffortExceeded extends Error {
  override name = 'EffortExceeded'
}

/** Limit of steps for one check. An ordinary machine does this many in at most 20 milliseconds. */
export const MAX_STEPS = 60_000

/** Counts the work of a check. One step is about what a validator does in a third of a microsecond. */
export class Effort {
  #left: number

  constructor(most = MAX_STEPS) {
    this.#left = most
  }

  get left(): number {
    return this.#left
  }

  /** Spends steps. Call it before the work. Throws `EffortExceeded`. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new EffortExceeded('too many steps')
  }
}

/** Whether JSON is nested deeper than `levels`. Reads no deeper than that. */
export const isDeeperThan = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((part) => isDeeperThan(part, levels - 1)))
