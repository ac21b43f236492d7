// 32 writers who pay one seller beside 32 who pay one each, on the memory and the file storage: what a hot balance costs.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createService } from 'farthing'
import { fileStorage } from 'farthing/storage/file'
import { memoryStorage } from 'farthing/storage/memory'
import { median } from './figures.mjs'

const WRITERS = 32
const numbers = Array.from({ length: WRITERS }, (_, n) => n)

async function market(storage) {
  const service = createService({ storage, sandbox: true })
  const seeded = await service.sandbox.seed({
    accounts: numbers.map((n) => ({ name: `Seller ${n}` })),
    users: numbers.map((n) => ({ email: `payer-${n}@example.test`, balance: 1_000_000 })),
    commodities: numbers.map((n) => ({ account: `Seller ${n}`, descriptor: 'BENCH', cost: 0.001 })),
  })
  const call = async (path, headers, body) => {
    const request = new Request(`http://127.0.0.1${path}`, { method: 'POST', headers, ...(body && { body }) })
    const answer = await service.fetch(request)
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const tokens = []
  for (const { client_id, client_secret } of seeded.users) {
    const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
    tokens.push((await call('/v4/user/oauth/token', { authorization })).access_token)
  }
  const hashes = seeded.commodities.map(({ hash }) => hash)
  const pay = (writer, seller) => {
    const headers = { authorization: `Bearer ${tokens[writer]}`, 'content-type': 'application/json' }
    return call(`/v4/payment/${hashes[seller]}`, headers, '{}')
  }
  return { pay, close: () => service.close() }
}

/** Payments in a second, and the processor's microseconds that each takes. */
async function run({ pay }, { sellerOf, seconds }) {
  const until = performance.now() + seconds * 1000
  const began = process.cpuUsage()
  const start = performance.now()
  let paid = 0
  const writer = async (n) => {
    while (performance.now() < until) {
      await pay(n, sellerOf(n))
      paid++
    }
  }
  await Promise.all(numbers.map(writer))
  const { user, system } = process.cpuUsage(began)
  return { perSecond: (paid * 1000) / (performance.now() - start), cpu: (user + system) / paid }
}

export async function hotRowFigures({ rounds, seconds }) {
  const folder = mkdtempSync(join(tmpdir(), 'farthing-bench-'))
  const storages = [
    ['memory', memoryStorage()],
    ['file', await fileStorage({ file: join(folder, 'hot.json') })],
  ]
  const figures = []
  try {
    for (const [name, storage] of storages) {
      const made = await market(storage)
      const one = []
      const each = []
      await run(made, { sellerOf: (n) => n, seconds: 1 })
      for (let round = 0; round < rounds; round++) {
        one.push(await run(made, { sellerOf: () => 0, seconds }))
        each.push(await run(made, { sellerOf: (n) => n, seconds }))
      }
      await made.close()
      const middle = (runs, figure) => median(runs.map((each) => each[figure]))
      const shown = (runs) => `${middle(runs, 'perSecond').toFixed(0)}/s, ${middle(runs, 'cpu').toFixed(0)} µs each`
      figures.push({
        name: `${WRITERS} writers to one seller / to ${WRITERS}, ${name}`,
        ratio: middle(one, 'perSecond') / middle(each, 'perSecond'),
        target: '>= 0.9',
        detail: `${shown(one)} beside ${shown(each)}`,
      })
    }
    return figures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
