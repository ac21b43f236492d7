import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'

export interface Closing {
  readonly server: Server
  readonly sockets: ReadonlySet<Socket>
  readonly pipelines: Pipelines
  /** How long running requests may take, in milliseconds. */
  readonly closeMs: number
}

/** How many connections wait to be accepted, at most: the default of Node's `listen`. */
const BACKLOG = 511

/** Each turn of the event loop reads what has arrived. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/**
 * Accepts the connections that wait for it. They hold requests too, and closing would reset them. Node accepts one in
 * each turn.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let hasAccepted = true
  const note = () => {
    hasAccepted = true
  }
  server.on('connection', note)
  for (let turn = 0; hasAccepted && turn < BACKLOG; turn++) {
    hasAccepted = false
    await nextTurn()
  }
  server.off('connection', note)
}

/**
 * How long an idle connection stays open, in milliseconds: a request on its way to it must not meet a closed
 * connection. One from this machine arrives sooner.
 */
const idleMs = (sockets: ReadonlySet<Socket>): number =>
  [...sockets].every(({ remoteAddress = '' }) => /^(::ffff:)?127\.|^::1$/.test(remoteAddress)) ? 30 : 200

/** In turns of the event loop: what a busy process could not read while it slept is read in these. */
const SWEEP_TURNS = 3

export async function closeServer({ server, sockets, pipelines, closeMs }: Closing): Promise<void> {
  const late = setTimeout(() => server.closeAllConnections(), closeMs)
  await acceptWaiting(server)
  // The method of Node's HTTP server closes idle connections at once. Bun's is no TCP server.
  const { close } = server instanceof TcpServer ? TcpServer.prototype : server
  const closed = new Promise<void>((resolve) => close.call(server, () => resolve()))
  const sweep = async () => {
    for (let turn = 0; turn < SWEEP_TURNS; turn++) await nextTurn()
    // Node does not count a connection as idle before its first request. Bun counts no bytes.
    for (const socket of sockets) if (socket.bytesRead === 0 && !pipelines.isBusy(socket)) socket.end()
    server.closeIdleConnections()
  }
  let sweeping: NodeJS.Timeout | undefined
  // A connection becomes idle when its answer is sent. Polling is cheaper than a listener on each request.
  const idle = setTimeout(() => {
    void sweep()
    sweeping = setInterval(sweep, 20)
  }, idleMs(sockets))
  await closed
  clearTimeout(idle)
  clearInterval(sweeping)
  clearTimeout(late)
  // Stops the server's own checks of its connections.
  server.close()
}

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

/** How long a refused connection is read on, in milliseconds, and how many are at a time. */
const LINGER_MS = 2000
const MOST_LINGERING = 1000

/** The statuses that Node itself gives to these, and 400 to all others. */
const STATUSES: Partial<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
}

/** The answer that a connection is at: Node names it so, and asks it the same. */
type Answering = { _httpMessage?: ServerResponse | null }

/**
 * Answers what is no request, or does not arrive in time, as Node does, but goes on reading for a while: closing a
 * connection whose client still sends resets it, and then the client cannot read the answer.
 */
export function lingerAfterRefusals(server: Server<typeof IncomingMessage, typeof ServerResponse>): void {
  let lingering = 0
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket & Answering) => {
    if (!socket.writable || socket._httpMessage?.headersSent) return socket.destroy(error)
    const status = STATUSES[error.code ?? ''] ?? 400
    const answer = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`
    if (lingering === MOST_LINGERING) return socket.end(answer).destroy(error)
    lingering++
    const late = setTimeout(() => socket.destroy(error), LINGER_MS)
    socket.once('close', () => {
      clearTimeout(late)
      lingering--
    })
    // What still arrives is no part of a request.
    socket.removeAllListeners('data').removeAllListeners('end')
    socket
      .end(answer)
      .on('data', () => {})
      .resume()
  })
}
