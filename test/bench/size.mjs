// What a data file and a process with many payments cost: each size in processes of its own, which say their figures as lines of JSON.
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createService } from 'farthing'
import { fileStorage } from 'farthing/storage/file'
import { openShop } from './shop.mjs'

const SIZES = [10_000, 100_000, 500_000]
const AT_ONCE = 100
const BASE = 'http://127.0.0.1:4242'
const MB = 1 << 20

const say = (figures) => process.stdout.write(`${JSON.stringify(figures)}\n`)
const now = () => performance.now()

function heap() {
  for (let i = 0; i < 3; i++) globalThis.gc()
  return process.memoryUsage().heapUsed
}

/** Pays `count` times over a file, and closes. */
async function write(file, count) {
  const shop = await openShop({ storage: await fileStorage({ file }) })
  const payMany = async (most) => {
    const began = now()
    await shop.payMany(most, AT_ONCE)
    return most / ((now() - began) / 1000)
  }
  const part = Math.min(5_000, count / 2)
  await payMany(1_000)
  const first = await payMany(part)
  const empty = heap()
  await payMany(count - 2 * part - 1_000)
  const last = await payMany(part)
  await shop.read('/v4/payments')
  await shop.service.sandbox.ledger()
  const grown = heap() - empty
  const began = now()
  await shop.service.close()
  say({ heapPerPayment: grown / (count - part - 1_000), rate: last / first, closeMs: now() - began })
}

/** Opens the file, and reads everything once: the longest wait of a call beside the audit and the snapshot. */
async function read(file) {
  const before = heap()
  const began = now()
  const service = createService({
    storage: await fileStorage({ file }),
    sandbox: true,
    limits: { snapshotBytes: 2 ** 40 },
  })
  await service.ready()
  const openMs = now() - began
  const held = heap() - before
  const rss = process.memoryUsage().rss
  const auditWait = await longestWait(service, () => service.sandbox.ledger())
  let peak = rss
  const snapshotWait = await longestWait(service, async () => {
    const answer = await service.fetch(new Request(`${BASE}/_sandbox/snapshot`))
    for await (const _ of answer.body) peak = Math.max(peak, process.memoryUsage().rss)
  })
  await service.close()
  say({ openMs, held, snapshotGrowth: peak - rss, auditWait, snapshotWait })
}

async function longestWait(service, work) {
  let isOver = false
  let longest = 0
  const done = work().finally(() => (isOver = true))
  while (!isOver) {
    const began = now()
    await (await service.fetch(new Request(`${BASE}/v4/billing/plans`))).text()
    longest = Math.max(longest, now() - began)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await done
  return longest
}

/** Runs one of them in a process of its own. */
function inProcess(...args) {
  const child = spawn(process.execPath, ['--expose-gc', fileURLToPath(import.meta.url), ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (text) => (said += text))
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => (code === 0 ? resolve(JSON.parse(said)) : reject(new Error(`it ended with ${code}`))))
  })
}

const sizeOf = (folder, is) =>
  readdirSync(folder)
    .filter(is)
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)

export async function sizeFigures() {
  const figures = []
  for (const count of SIZES) {
    const folder = mkdtempSync(join(tmpdir(), 'farthing-bench-'))
    try {
      const file = join(folder, 'data.json')
      const written = await inProcess('write', file, count)
      const data = sizeOf(folder, (name) => name === 'data.json')
      const journal = sizeOf(folder, (name) => name.includes('.journal.'))
      const opened = await inProcess('read', file)
      const of = `with ${count.toLocaleString('en')} payments`
      const ms = (time) => `${time.toFixed(0)} ms`
      figures.push(
        { name: `rate ${of} / at the start`, ratio: written.rate, target: '>= 0.9', detail: 'file storage' },
        {
          name: `kB of heap per payment ${of}`,
          ratio: written.heapPerPayment / 1000,
          target: '<= 1.5',
          detail: `the rows in memory with their indexes, the list of commits, and the 10,000 requests that the journal keeps; ${(opened.held / count / 1000).toFixed(2)} kB when read from the file`,
        },
        {
          name: `seconds to open a file ${of}`,
          ratio: opened.openMs / 1000,
          target: '<= 0.8 with 100,000',
          detail: `data file ${(data / MB).toFixed(0)} MiB, journal ${(journal / MB).toFixed(0)} MiB; close ${ms(written.closeMs)}`,
        },
        {
          name: `MiB that a snapshot needs ${of}`,
          ratio: opened.snapshotGrowth / MB,
          target: '<= 64',
          detail: `longest wait of a call ${ms(opened.snapshotWait)}, beside an audit ${ms(opened.auditWait)}`,
        },
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
  return figures
}

const [, script, what, file, count] = process.argv
if (script === fileURLToPath(import.meta.url)) await (what === 'write' ? write(file, Number(count)) : read(file))
