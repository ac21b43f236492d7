import type { Socket } from 'node:net'

/** From this many requests under way on, a connection is not read until one of them is answered. */
const PAUSED_FROM = 16

/** A connection with more is closed: one read of it, which nothing can stop, may bring two thousand. */
const MOST_PIPELINED = 256

/** Node resumes a connection after each answer. */
function pauseAgain(this: Socket): void {
  this.pause()
}

/** Counts the requests of each connection that are not answered yet: a client may send on without waiting for answers. */
export class Pipelines {
  readonly #counts = new WeakMap<Socket, number>()

  /** Counts one more. Returns false, and closes the connection, if it has sent too many. */
  enter(socket: Socket): boolean {
    const count = (this.#counts.get(socket) ?? 0) + 1
    if (count > MOST_PIPELINED) {
      socket.destroy()
      return false
    }
    this.#counts.set(socket, count)
    if (count === PAUSED_FROM) socket.pause().on('resume', pauseAgain)
    return true
  }

  /** Whether a request of the connection waits for its answer. */
  isBusy(socket: Socket): boolean {
    return (this.#counts.get(socket) ?? 0) > 0
  }

  /** Counts one less: it was answered, or its connection ended. */
  leave(socket: Socket): void {
    const count = this.#counts.get(socket) ?? 0
    this.#counts.set(socket, count - 1)
    if (count === PAUSED_FROM) socket.off('resume', pauseAgain).resume()
  }
}
