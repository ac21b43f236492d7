// A PostgreSQL server for the benchmarks, with the settings that it is installed with: it flushes each commit to the disk.
import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
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

/** Of a process: its parent, and the processor time of it and of its children that have ended, in microseconds. Linux only. */
function usageOf(pid) {
  // Behind the name in brackets: state, parent, … The times are in hundredths of a second.
  const [, parent, ...rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').map(Number)
  return { parent, micros: (rest[9] + rest[10] + rest[11] + rest[12]) * 10_000 }
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
    /** The processor time that all processes of the server have used, in microseconds; NaN where there is no /proc. */
    usage() {
      if (!existsSync('/proc')) return Number.NaN
      const server = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
      let micros = 0
      for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
        try {
          const used = usageOf(pid)
          if (Number(pid) === server || used.parent === server) micros += used.micros
        } catch (error) {
          // It has ended since the folder was read.
          if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error
        }
      return micros
    },
    stop() {
      run('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
