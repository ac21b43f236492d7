import type { Changes } from '../../../../src/storage/transaction.js'

interface OwnCommit {
  readonly commit: number
  readonly changes: readonly Changes[]
}

/** A group gathers its reads while at most one other lands. */
const MOST_KNOWN_COMMITS = 4

/** The last commits of this process, as long as no other process commits between them. */
export class KnownCommits {
  #last: number | undefined
  /** The commit from which on all were this process's own. */
  #from = 0
  #own: OwnCommit[] = []

  /** The last commit, as far as this process knows. */
  get last(): number | undefined {
    return this.#last
  }

  /**
   * What this process changed after the commit `base`, if `last` is the last commit and nobody else committed since
   * `base`. Undefined if someone may have.
   */
  since(base: number | undefined, last: number): (readonly Changes[])[] | undefined {
    if (base === undefined || base < this.#from || last !== this.#last) return undefined
    return this.#own.filter(({ commit }) => commit > base).map(({ changes }) => changes)
  }

  add(own: OwnCommit): void {
    this.#own.push(own)
    this.#last = own.commit
    if (this.#own.length > MOST_KNOWN_COMMITS) this.#from = this.#own.shift()?.commit ?? own.commit
  }

  /** Others committed until `last`. */
  learn(last: number): void {
    this.#own = []
    this.#from = last
    this.#last = last
  }

  /** Nothing is known any more, because a transaction failed. */
  forget(): void {
    this.#last = undefined
  }
}
