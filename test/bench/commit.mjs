// What a payment costs on the file storage with few and with many stored, in turn, one after the other.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileStorage } from 'farthing/storage/file'
import { median } from './figures.mjs'
import { openShop } from './shop.mjs'

const FEW = 1_000
const MANY = 100_000
const BATCH = 200

async function shop(folder, name) {
  const storage = await fileStorage({ file: join(folder, name) })
  const { service, pay, payMany, read } = await openShop({ storage })
  // The indexes that a seller and a payer read are grown before, so that keeping them up is counted.
  const warm = async () => {
    await read('/v4/payments')
    await service.sandbox.ledger()
  }
  return { pay, payMany: (count) => payMany(count, 100), warm, close: () => service.close() }
}

async function batch({ pay }) {
  const began = process.cpuUsage()
  for (let i = 0; i < BATCH; i++) await pay()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / BATCH
}

export async function commitFigures({ rounds }) {
  const folder = mkdtempSync(join(tmpdir(), 'farthing-bench-'))
  try {
    const few = await shop(folder, 'few.json')
    const many = await shop(folder, 'many.json')
    await few.payMany(FEW)
    await many.payMany(MANY)
    for (const each of [few, many]) await each.warm()
    for (const each of [few, many]) await batch(each)
    const figures = []
    for (let round = 0; round < rounds * 5; round++) figures.push({ few: await batch(few), many: await batch(many) })
    for (const each of [few, many]) await each.close()
    const of = (key) => median(figures.map((figure) => figure[key]))
    const ratio = median(figures.map(({ few, many }) => many / few))
    const detail = `${of('many').toFixed(0)} us beside ${of('few').toFixed(0)} us of processor time`
    return [{ name: 'commit with 100,000 payments / with 1,000, file', ratio, target: '<= 1.25', detail }]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
