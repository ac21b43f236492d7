import type { Replaced } from '../../../../src/storage/storage.js'

/** Tells what the commits of this process replaced, and notices that others have committed. */
export class CommitWatch {
  readonly #watchers: ((replaced: Replaced) => void)[] = []
  /** The last commit that was told. */
  #told: number | undefined
  /** The commit of this process that is on its way. */
  #landing: number | undefined

  get isUsed(): boolean {
    return this.#watchers.length > 0
  }

  add(onCommit: (replaced: Replaced) => void): void {
    this.#watchers.push(onCommit)
  }

  /** Call it before anything is read of the state after a commit. */
  notice(commit: number): void {
    if (commit <= (this.#told ?? -1) || commit === this.#landing) return
    if (this.#told !== undefined) this.#tell({ rows: [], isUnknown: true })
    this.#told = commit
  }

  /** Tells what a commit replaces that is about to land. */
  tell(rows: Replaced['rows'], commit: number): void {
    this.#landing = commit
    if (rows.length > 0) this.#tell({ rows })
  }

  /** Tells that a commit is about to replace the whole state. */
  tellImport(former: Replaced['former'], commit: number): void {
    this.#landing = commit
    this.#tell({ rows: [], ...(former ? { former } : { isUnknown: true }) })
  }

  /** The commit that was about to land has landed, or it has not. */
  settle(commit: number, hasLanded: boolean): void {
    if (hasLanded) this.#told = Math.max(commit, this.#told ?? 0)
    this.#landing = undefined
  }

  #tell(replaced: Replaced): void {
    for (const onCommit of this.#watchers) onCommit(replaced)
  }
}
