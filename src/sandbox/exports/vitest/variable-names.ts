/** Names of variables, each used once. */
export class VariableNames {
  readonly #taken: Set<string>

  constructor(taken: readonly string[]) {
    this.#taken = new Set(taken)
  }

  /** A name like the given one, with a number behind it if that is taken. */
  of(wanted: string): string {
    const base = wanted.replace(/\W+/g, '_').replace(/^(?=\d)/, '_')
    let name = base
    for (let number = 2; this.#taken.has(name); number++) name = `${base}${number}`
    this.#taken.add(name)
    return name
  }
}
