import { connect, createServer, type Server, type Socket } from 'node:net'

/** Which of the two the database gets: the COMMIT at which the connection is cut, or not even that. */
type Cut = 'before COMMIT' | 'after COMMIT'

/** A simple query, as it stands in the protocol. */
const COMMIT = Buffer.from('commit\0')

/** Stands between a storage and its database, and cuts connections when a test says so. */
export class CuttingProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #cut: Cut | undefined
  #refusesThen = false
  /** How many more pieces pass before a connection is cut at one. */
  #passing = Number.POSITIVE_INFINITY
  #isOpen = true
  /** How often it has cut a connection when told to. */
  cuts = 0

  private constructor(port: number, host: string) {
    this.#server = createServer((client) => {
      if (!this.#isOpen) return client.destroy()
      const database = connect(port, host)
      let isCut = false
      for (const socket of [client, database]) {
        this.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => {
          client.destroy()
          // What was cut still arrives.
          if (!isCut) database.destroy()
        })
      }
      client.on('data', (sent) => {
        const cut = this.#passing-- <= 0 ? 'after COMMIT' : sent.includes(COMMIT) ? this.#cut : undefined
        if (cut) {
          this.#cut = undefined
          this.#passing = Number.POSITIVE_INFINITY
          this.cuts++
          if (this.#refusesThen) this.#isOpen = false
          isCut = true
          client.destroy()
        }
        if (cut === 'before COMMIT') database.destroy()
        else if (cut) database.end(sent)
        else database.write(sent)
      })
      database.on('data', (answer) => {
        if (!client.destroyed) client.write(answer)
      })
    })
  }

  static async open(url: string): Promise<{ proxy: CuttingProxy; url: string }> {
    const to = new URL(url)
    const proxy = new CuttingProxy(Number(to.port), to.hostname)
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve))
    const address = proxy.#server.address()
    to.host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
    return { proxy, url: to.href }
  }

  /** Cuts the connection that sends the next COMMIT. With `thenRefuse`, takes no new ones from that moment until `restore`. */
  cutNext(cut: Cut, { thenRefuse = false } = {}): void {
    this.#cut = cut
    this.#refusesThen = thenRefuse
  }

  /** Lets some pieces pass to the database, and cuts the connection that sends the next one. That one still arrives. */
  cutAfter(pieces: number): void {
    this.#passing = pieces
  }

  /** Cuts all connections, and takes no more of them until `restore`. */
  refuse(): void {
    this.#isOpen = false
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  restore(): void {
    this.#isOpen = true
  }

  async close(): Promise<void> {
    this.refuse()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
