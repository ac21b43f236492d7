import type { Asked, Commands, Done } from './commands.js'

/** Does what the test process says over a socket, to the port behind the `#` of this page's address. Closes the page with it. */
export function obey(commands: Commands): void {
  const socket = new WebSocket(`ws://127.0.0.1:${location.hash.slice(1)}`)
  const tell = (done: Done) => socket.send(JSON.stringify(done))
  socket.onmessage = async ({ data }) => {
    const { number, command, args }: Asked = JSON.parse(data)
    const run = commands[command] as (...args: readonly never[]) => Promise<unknown>
    await run(...args).then(
      (value) => tell({ number, value }),
      (error) => tell({ number, error: textOf(error) }),
    )
  }
  socket.onclose = () => close()
  // What nobody asked for.
  addEventListener('error', ({ error }) => tell({ number: 0, error: textOf(error) }))
  addEventListener('unhandledrejection', ({ reason }) => tell({ number: 0, error: textOf(reason) }))
}

const textOf = (error: unknown): string => (error instanceof Error ? `${error.stack}` : String(error))
