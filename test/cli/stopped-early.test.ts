import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { cli } from '../support/cli.js'
import { howMuch } from '../support/how-much.js'

/** Commands that wait for a signal to stop, before the service that they ask has answered anything. */

const { spawn } = cli()

/** A port that takes connections, and never answers. Returns what resolves at the first connection. */
async function silent() {
  const sockets: Socket[] = []
  let connected = () => {}
  const isAsked = new Promise<void>((resolve) => (connected = resolve))
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}))
    connected()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { port: String((server.address() as AddressInfo).port), isAsked }
}

const few: [string, (port: string) => string[]][] = [
  [
    'listen --forward-to',
    (port) => ['listen', '--url', `http://127.0.0.1:${port}`, '--forward-to', 'http://127.0.0.1:9'],
  ],
  ['requests --follow', (port) => ['requests', '--follow', '--url', `http://127.0.0.1:${port}`]],
  ['mcp --url', (port) => ['mcp', '--url', `http://127.0.0.1:${port}`]],
]
/** The same with other options. */
const others: typeof few = [
  ['listen', (port) => ['listen', '--url', `http://127.0.0.1:${port}`]],
  ['mcp --port', (port) => ['mcp', '--port', port]],
]

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const cases = howMuch(few, [...few, ...others]).map(([name, args], at) => ({
  name,
  args,
  signal: signals[at % signals.length] ?? signals[0],
}))

test.each(cases)('$name ends at the first signal while nothing answers', async ({ args, signal: one }) => {
  for (const signal of howMuch<readonly NodeJS.Signals[]>([one], signals)) {
    const { port, isAsked } = await silent()
    const { child, ended } = spawn(args(port))
    await isAsked
    const began = performance.now()
    child.kill(signal)
    expect(await ended).toEqual({ code: 0, signal: null, stdout: '', stderr: '' })
    // A busy machine is slow. Before, they waited until the connection broke, which was never.
    expect(performance.now() - began).toBeLessThan(10_000)
  }
})

test('mcp does not wait for a port that says nothing', async () => {
  const { port } = await silent()
  const { ended } = spawn(['mcp', '--port', port])
  expect(await ended).toMatchObject({ code: 2, stderr: expect.stringContaining(`port ${port} on 127.0.0.1 is in use`) })
})
