/** Runs jobs one after the other, in the order in which they come. */
export class Mutex {
  #last: Promise<void> = Promise.resolve()

  /** Runs a job when all earlier ones have ended. */
  async run<T>(job: () => Promise<T>): Promise<T> {
    const before = this.#last
    let end = () => {}
    this.#last = new Promise((resolve) => (end = resolve))
    await before
    try {
      return await job()
    } finally {
      end()
    }
  }
}
