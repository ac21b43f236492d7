/** Thrown when a check takes more steps than it may. */
export class EffortExceeded extends Error {
  override name = 'EffortExceeded'
}

/** Steps of one check. They are weighed so that an ordinary machine does all of them in at most 20 milliseconds. */
export const MOST_STEPS = 60_000

/** Counts the work of a check: a step is about what a validator does for a third of a microsecond. */
export class Effort {
  #left: number

  constructor(most = MOST_STEPS) {
    this.#left = most
  }

  get left(): number {
    return this.#left
  }

  /** Call it before the work is done. Throws `EffortExceeded`. */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new EffortExceeded('too many steps')
  }
}

/** Whether JSON is nested deeper than so many levels; looks no deeper than that. */
export const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1)))
