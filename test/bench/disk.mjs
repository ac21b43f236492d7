// The processor time of a payment on a file beside one in memory, in turn in one process, and what it leaves in the journal.
// `node --cpu-prof test/bench/disk.mjs` shows where it goes.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fileStorage } from 'farthing/storage/file'
import { median } from './figures.mjs'
import { openShop } from './shop.mjs'

const AT_ONCE = 32
const BATCH = 50 * AT_ONCE

async function shop(storage) {
  const { service, payMany } = await openShop(storage && { storage })
  const batch = async () => {
    const began = process.cpuUsage()
    await payMany(BATCH, AT_ONCE)
    const { user, system } = process.cpuUsage(began)
    return (user + system) / BATCH
  }
  return { batch, close: () => service.close() }
}

export async function diskFigures({ rounds }) {
  const folder = mkdtempSync(join(tmpdir(), 'farthing-bench-'))
  const journal = () =>
    readdirSync(folder)
      .filter((name) => name.includes('.journal.'))
      .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  try {
    const memory = await shop()
    const file = await shop(await fileStorage({ file: join(folder, 'data.json'), journalLimit: 2 ** 40 }))
    for (let warm = 0; warm < 4; warm++) for (const each of [memory, file]) await each.batch()
    const before = journal()
    const figures = []
    for (let round = 0; round < rounds * 5; round++)
      figures.push({ memory: await memory.batch(), file: await file.batch() })
    const bytes = (journal() - before) / (figures.length * BATCH)
    for (const each of [memory, file]) await each.close()
    const of = (key) => median(figures.map((figure) => figure[key])).toFixed(0)
    return [
      {
        name: 'processor time of a payment, memory / file',
        ratio: median(figures.map(({ memory, file }) => memory / file)),
        target: '>= 0.9',
        detail: `${of('memory')} us beside ${of('file')} us, ${AT_ONCE} payments at once in one process`,
      },
      { name: 'kB of the journal for a payment', ratio: bytes / 1000, target: '<= 0.9', detail: `${AT_ONCE} at once` },
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const each of await diskFigures({ rounds: 3 })) console.log(each)
