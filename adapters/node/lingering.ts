import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

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
