// Drills docs/guides/team-sandbox.md: dumps the database of three processes while payments go on, drops it, restores the
// dump, and checks that every payment that was answered before the dump is there. Needs the programs of PostgreSQL, in
// PATH, in /usr/lib/postgresql or in the folder of POSTGRES_BIN. Run: node scripts/drill-postgres.mjs
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { call, openShop } from './drill-shop.mjs'
import { setUp } from './setup.mjs'

const PAYMENTS = 60
const command = fileURLToPath(new URL('../dist/cli/farthing.js', import.meta.url))

const programs = findPrograms()
if (programs === undefined) {
  console.error('The programs of PostgreSQL are not installed: there is no pg_dump.')
  process.exit(3)
}
await setUp('cli')
const directory = mkdtempSync(join(tmpdir(), 'farthing-drill-'))
const running = new Set()
/** PostgreSQL refuses to run as root. */
const owner = process.getuid?.() === 0 ? { uid: idOf('--user'), gid: idOf('--group') } : {}
let isServing = false
try {
  const port = await serveDatabase()
  const connection = ['--host=127.0.0.1', `--port=${port}`, '--username=postgres']
  const database = `postgres://postgres@127.0.0.1:${port}/farthing`
  const dump = join(directory, 'work', 'farthing.dump')
  postgres('createdb', ...connection, 'farthing')
  let sandboxes = await startThree(database)
  const { pay, validate } = await openShop(sandboxes[0])
  const payAll = (count) => Promise.all(Array.from({ length: count }, (_, n) => pay(sandboxes[n % sandboxes.length])))
  const before = await payAll(PAYMENTS)
  let isPaying = true
  let later = 0
  const paying = sandboxes.map(async (sandbox) => {
    while (isPaying) {
      await pay(sandbox)
      later++
    }
  })
  await dumpTo(dump, connection)
  isPaying = false
  await Promise.all(paying)
  await endAll('SIGKILL')
  postgres('dropdb', ...connection, '--force', 'farthing')
  postgres('createdb', ...connection, 'farthing')
  postgres('pg_restore', ...connection, '--exit-on-error', '--single-transaction', '--dbname=farthing', dump)
  sandboxes = await startThree(database)
  for (const sandbox of sandboxes) {
    const audit = await call(sandbox, 'GET', '/_sandbox/ledger')
    if (!audit.ok) throw new Error(`the ledger is wrong after the restore: ${JSON.stringify(audit.broken)}`)
    const metrics = await (await fetch(`${sandbox}/metrics`)).text()
    if (!metrics.includes('\nfarthing_ledger_audit_ok 1\n')) throw new Error('/metrics does not show the audit')
  }
  for (const [n, payment] of before.entries()) await validate(sandboxes[n % sandboxes.length], payment)
  await Promise.all(sandboxes.map((sandbox) => pay(sandbox)))
  await endAll('SIGTERM')
  console.log(
    `All ${PAYMENTS} payments from before the dump are there, and the ledger is correct. ${later} went on meanwhile.`,
  )
} finally {
  for (const child of running) child.kill('SIGKILL')
  if (isServing) postgres('pg_ctl', `--pgdata=${join(directory, 'work', 'data')}`, '--mode=immediate', 'stop')
  rmSync(directory, { recursive: true, force: true })
}

/** The folder of the programs, empty if they are in PATH. Undefined if there are none. */
function findPrograms() {
  if (process.env.POSTGRES_BIN) return process.env.POSTGRES_BIN
  const installed = '/usr/lib/postgresql'
  const [newest] = existsSync(installed) ? readdirSync(installed).sort((a, b) => Number(b) - Number(a)) : []
  if (newest !== undefined) return join(installed, newest, 'bin')
  try {
    execFileSync('pg_dump', ['--version'])
    execFileSync('initdb', ['--version'])
    return ''
  } catch {
    return undefined
  }
}

function idOf(which) {
  return Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }))
}

/** Runs a program of PostgreSQL to its end. */
function postgres(name, ...args) {
  execFileSync(join(programs, name), args, { ...owner, cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Starts an empty server on this machine. Returns its port. */
async function serveDatabase() {
  chmodSync(directory, 0o755)
  const work = join(directory, 'work')
  mkdirSync(work)
  if (owner.uid !== undefined) chownSync(work, owner.uid, owner.gid)
  const port = await freePort()
  postgres('initdb', `--pgdata=${work}/data`, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C')
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`
  postgres('pg_ctl', `--pgdata=${work}/data`, '--wait', `--log=${work}/log`, `--options=${options}`, 'start')
  isServing = true
  return port
}

/** Dumps while this process goes on paying. */
async function dumpTo(file, connection) {
  const args = [...connection, '--format=custom', '--schema=farthing', `--file=${file}`, 'farthing']
  const child = spawn(join(programs, 'pg_dump'), args, { ...owner, cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`pg_dump failed with ${code}`)
}

/** Starts three sandboxes over the database at once. Returns their addresses. */
function startThree(database) {
  return Promise.all([1, 2, 3].map(() => start(database)))
}

async function start(database) {
  const child = spawn(process.execPath, [command, 'start', '--json', '--port', '0', '--database', database], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line).url
  throw new Error('a sandbox did not start')
}

async function endAll(signal) {
  const ended = [...running].map((child) => new Promise((resolve) => child.once('exit', resolve)))
  for (const child of running) child.kill(signal)
  await Promise.all(ended)
  running.clear()
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
}
