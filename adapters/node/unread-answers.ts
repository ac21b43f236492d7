import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** In bytes. */
const MOST = 128 << 20
type Held = { readonly network: string; bytes: number }

/**
 * Answers that their callers have not taken yet. They are in memory. Beyond the limit, the network that leaves most of
 * them loses its oldest connection: whoever reads never waits for whoever does not.
 */
export class UnreadAnswers {
  /** Connections in the order in which they left something unread. */
  readonly #held = new Map<Socket, Held>()
  readonly #networks = new Map<string, number>()
  readonly #watched = new WeakSet<Socket>()
  #bytes = 0

  /** Counts what is left of an answer until it has left, or its connection is closed. */
  hold(socket: Socket, res: Pick<ServerResponse, 'writableLength' | 'once'>): void {
    const bytes = res.writableLength
    const held = this.#held.get(socket) ?? { network: networkOf(socket.remoteAddress ?? ''), bytes: 0 }
    this.#held.set(socket, held)
    this.#count(held, bytes)
    res.once('finish', () => {
      if (this.#held.get(socket) !== held) return
      this.#count(held, -bytes)
      if (held.bytes === 0) this.#held.delete(socket)
    })
    // Answers that wait behind another one on their connection do not hear of its end.
    if (!this.#watched.has(socket)) socket.once('close', () => this.#forget(socket))
    this.#watched.add(socket)
    while (this.#bytes > MOST) this.#dropOne()
  }

  #dropOne(): void {
    const [network] = [...this.#networks].reduce((most, each) => (each[1] > most[1] ? each : most))
    for (const [socket, held] of this.#held) {
      if (held.network !== network) continue
      this.#forget(socket)
      socket.destroy()
      return
    }
  }

  #forget(socket: Socket): void {
    const held = this.#held.get(socket)
    if (!held) return
    this.#held.delete(socket)
    this.#count(held, -held.bytes)
  }

  #count(held: Held, bytes: number): void {
    held.bytes += bytes
    this.#bytes += bytes
    const left = (this.#networks.get(held.network) ?? 0) + bytes
    if (left === 0) this.#networks.delete(held.network)
    else this.#networks.set(held.network, left)
  }
}

/** An IPv4 address, or the first 64 bits of an IPv6 address. */
const networkOf = (address: string): string =>
  address.includes('.') ? address : (address.split('::')[0] ?? '').split(':').slice(0, 4).join(':')
