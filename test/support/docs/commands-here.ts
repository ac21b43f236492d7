import { once } from 'node:events'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { runHere } from '../run-here.js'

interface Asked {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/**
 * Answers the stand-in of `farthing` (`stand-in.mjs`), which asks for commands that end by themselves: they run in this
 * process, one after another. A process of its own would load and describe the whole service for each.
 */
export async function commandsHere(socket: string): Promise<() => Promise<void>> {
  let last: Promise<unknown> = Promise.resolve()
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    last = last.then(async () => {
      // The answer is still to be written.
      const asked = await text(connection.iterator({ destroyOnReturn: false }))
      const { args, cwd, env }: Asked = JSON.parse(asked)
      const before = Object.keys(env).map((name) => [name, process.env[name]] as const)
      Object.assign(process.env, env)
      try {
        connection.end(JSON.stringify(await runHere(args, cwd)))
      } finally {
        // A shell that follows has its own.
        for (const [name, value] of before)
          if (value === undefined) delete process.env[name]
          else process.env[name] = value
      }
    })
    last = last.catch((error: unknown) =>
      connection.end(JSON.stringify({ code: 1, stdout: '', stderr: String(error) })),
    )
  })
  await once(server.listen(socket), 'listening')
  return async () => {
    await last
    await once(server.close(), 'close')
  }
}
