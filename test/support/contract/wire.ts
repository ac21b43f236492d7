import { request } from 'node:http'
import { connect } from 'node:net'

/** What came back over a connection, read as HTTP. */
export interface WireAnswer {
  status: number
  headers: Record<string, string>
  text: string
  /** The text read as JSON, or undefined. */
  body: any
}

/** Sends lines and a body unchanged over a new connection. Returns everything that came back until it closed. */
export async function sendLines(url: string, lines: string[], body: string | Buffer = ''): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const pieces: Buffer[] = []
  socket.on('data', (piece) => pieces.push(piece))
  socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  socket.write(body)
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    // A server that refuses may close while the body is still on its way.
    socket.once('error', () => resolve())
  })
  return Buffer.concat(pieces).toString('utf8')
}

/** The first answer in what came back. */
export function readWire(text: string): WireAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const shown = rest.join('\r\n\r\n')
  const isJson = headers['content-type'] === 'application/json' && headers['content-length'] !== undefined && shown
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    text: shown,
    body: isJson ? JSON.parse(shown) : undefined,
  }
}

/** A request of Node's own client, which sends a body with any method. */
export function sendNode(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string | Buffer },
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const sent = request(url, { method, headers: { ...length, ...headers } }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString('utf8')
        const isJson = response.headers['content-type'] === 'application/json' && text !== ''
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Record<string, string>,
          text,
          body: isJson ? JSON.parse(text) : undefined,
        })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
