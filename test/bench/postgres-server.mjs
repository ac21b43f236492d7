// A PostgreSQL server for the benchmarks, with the settings that it is installed with: it flushes each commit to the disk.
import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const INSTALLED = '/usr/lib/postgresql'

/** The folder of the programs of an installed PostgreSQL. `POSTGRES_BIN` names another one. */
function programs() {
  const [version] = existsSync(INSTALLED) ? readdirSync(INSTALLED).sort().reverse() : []
  const folder = process.env.POSTGRES_BIN ?? (version && join(INSTALLED, version, 'bin'))
  if (!folder) throw new Error('PostgreSQL is not installed: install it, or name its programs in POSTGRES_BIN')
  return folder
}

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

export async function startPostgres() {
  const bin = programs()
  const folder = mkdtempSync(join(tmpdir(), 'farthing-bench-postgres-'))
  const port = await freePort()
  // PostgreSQL refuses to run as root.
  const isRoot = process.getuid?.() === 0
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  const user = isRoot ? { uid: id('-u'), gid: id('-g') } : {}
  if (isRoot) chownSync(folder, user.uid, user.gid)
  const run = (program, ...args) => {
    const { status, stdout, stderr } = spawnSync(join(bin, program), args, { ...user, cwd: '/', encoding: 'utf8' })
    if (status !== 0) throw new Error(`${program}: ${stderr || stdout}`)
    return stdout
  }
  const data = join(folder, 'data')
  const log = join(folder, 'log')
  run('initdb', '-D', data, '--locale=C', '--encoding=UTF8', '--auth=trust', '--username=postgres')
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -k ${folder} -c shared_buffers=256MB`
  run('pg_ctl', '-D', data, '-w', '-l', log, '-o', settings, 'start')
  const address = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres']
  return {
    newDatabase(name) {
      run('createdb', ...address, name)
      return `postgres://postgres@127.0.0.1:${port}/${name}`
    },
    /** Transactions per second of pgbench's own TPC-B. */
    tpcb({ clients, seconds }) {
      run('createdb', ...address, 'pgbench')
      run('pgbench', ...address, '-i', '-s', '10', '-q', 'pgbench')
      const said = run('pgbench', ...address, '-c', String(clients), '-j', '2', '-T', String(seconds), 'pgbench')
      return Number(/tps = ([\d.]+)/.exec(said)?.[1])
    },
    stop() {
      run('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
