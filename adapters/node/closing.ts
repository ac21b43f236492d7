import type { Server } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'
import type { Pipelines } from './pipelines.js'

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
