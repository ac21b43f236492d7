import type { ReplacedRow } from '../storage.js'
import type { Tables } from './tables.js'

/** Commits that become durable together, and what each replaced. */
interface Group {
  readonly durable: Promise<void>
  readonly replaced: (readonly ReplacedRow[])[]
}

/** The commits that are in the tables and not durable yet, the oldest first. If one fails, the tables drop them all. */
export class Landings {
  readonly #tables: Tables
  #groups: Group[] = []
  #hasFailed = false

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** Resolves when everything in the tables is durable. Undefined if it is. */
  get durable(): Promise<void> | undefined {
    return this.#groups.at(-1)?.durable
  }

  /** Whether a commit failed that is still in the tables. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Adds a commit. Commits that become durable together share one promise. */
  add(durable: Promise<void>, replaced: readonly ReplacedRow[]): void {
    const last = this.#groups.at(-1)
    if (last?.durable === durable) {
      last.replaced.push(replaced)
      return
    }
    const group: Group = { durable, replaced: [replaced] }
    this.#groups.push(group)
    durable.then(
      () => {
        if (this.#groups[0] === group) this.#groups.shift()
      },
      () => {
        if (this.#groups.includes(group)) this.#hasFailed = true
      },
    )
  }

  /**
   * Takes failed commits out of the tables again, with those that followed them: they have read what failed. Call it
   * between transactions. `isFailing` says that the log refuses commits, so none of these will become durable.
   */
  undoFailed(isFailing: boolean): void {
    if (this.#groups.length === 0 || !(this.#hasFailed || isFailing)) return
    for (const { replaced } of this.#groups.toReversed())
      for (const commit of replaced.toReversed()) this.#tables.undo(commit)
    this.#groups = []
    this.#hasFailed = false
  }
}
