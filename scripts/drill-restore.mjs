// Drills docs/guides/keeping-state-safe.md: backs up a sandbox while payments go on, destroys its files, restores the
// copy, and checks that every payment that was answered before the backup is there. Run: node scripts/drill-restore.mjs
import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { call, openShop } from './drill-shop.mjs'
import { setUp } from './setup.mjs'

const PAYMENTS = 50
const command = fileURLToPath(new URL('../dist/cli/farthing.js', import.meta.url))

await setUp('cli')
const directory = mkdtempSync(join(tmpdir(), 'farthing-drill-'))
const data = join(directory, 'data.json')
const copy = join(directory, 'copy.json')
let running
try {
  let sandbox = await start()
  const { pay, validate } = await openShop(sandbox)
  const before = []
  while (before.length < PAYMENTS) before.push(await pay())
  let isPaying = true
  const paying = Array.from({ length: 4 }, async () => {
    while (isPaying) await pay()
  })
  await farthing('backup', data, copy)
  isPaying = false
  await Promise.all(paying)
  await stop('SIGKILL')
  for (const name of readdirSync(directory))
    if (name.startsWith('data.json')) rmSync(join(directory, name), { recursive: true })
  copyFileSync(copy, data)
  copyFileSync(`${copy}.key`, `${data}.key`)
  await farthing('verify', data)
  sandbox = await start()
  const audit = await call(sandbox, 'GET', '/_sandbox/ledger')
  if (!audit.ok) throw new Error('the ledger is wrong after the restore')
  for (const payment of before) await validate(sandbox, payment)
  await stop('SIGTERM')
  console.log(`All ${PAYMENTS} payments from before the backup are there, and the ledger is correct.`)
} finally {
  running?.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
}

async function farthing(...args) {
  const child = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`farthing ${args[0]} failed with ${code}`)
}

async function start() {
  const args = [command, 'start', '--json', '--port', '0', '--data', data]
  running = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: running.stdout })) return JSON.parse(line).url
  throw new Error('the sandbox did not start')
}

async function stop(signal) {
  const ended = new Promise((resolve) => running.once('exit', resolve))
  running.kill(signal)
  await ended
}
