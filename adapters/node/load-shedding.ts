import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** How many requests may wait here. The connections of more are closed. */
const MOST_WAITING = 10_000

/** Node resumes a connection after each answer. */
function pauseAgain(this: Socket): void {
  this.pause()
}

/** The requests that came when no more might wait, in their order. It forgets those whose connection has ended. */
export class LoadShedding<A extends { readonly req: Pick<IncomingMessage, 'socket'> }> {
  readonly #held: A[] = []
  /** How many requests of each connection are here. */
  readonly #counts = new Map<Socket, number>()

  /** A connection that sends its next request without waiting for an answer is not read until its requests have left. */
  add(arrival: A): void {
    const { socket } = arrival.req
    if (this.#held.length >= MOST_WAITING) return void socket.destroy()
    const count = this.#counts.get(socket) ?? 0
    if (count === 1) socket.pause().on('resume', pauseAgain)
    this.#counts.set(socket, count + 1)
    this.#held.push(arrival)
  }

  get first(): A | undefined {
    for (let [first] = this.#held; first?.req.socket.destroyed; [first] = this.#held) this.take(first)
    return this.#held[0]
  }

  /** Removes the first one, and returns it. */
  take(first: A): A {
    const { socket } = first.req
    const count = this.#counts.get(socket) ?? 0
    this.#held.shift()
    if (count > 1) this.#counts.set(socket, count - 1)
    else {
      this.#counts.delete(socket)
      socket.off('resume', pauseAgain).resume()
    }
    return first
  }
}
