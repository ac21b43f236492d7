// What the journal and the history of commits cost a payment, as servers with and without them take turns: of processor time
// with several callers, and of the time until one caller has the answer.
import autocannon from 'autocannon'
import { median } from './figures.mjs'
import { prepare, startServer } from './http.mjs'

const BATCH = 1000
const CLIENTS = 8

/**
 * A server, and what measures many requests, in microseconds for each: `batch` the processor time, `alone` the time of one
 * after the other.
 */
async function started(kind, requestAt) {
  const server = await startServer(kind)
  const request = await requestAt(server.url)
  const batch = async () => {
    const before = await server.ask('usage')
    const { non2xx, errors } = await autocannon({ ...request, connections: CLIENTS, amount: BATCH })
    if (non2xx + errors > 0) throw new Error(`${kind}: ${non2xx} refusals, ${errors} errors`)
    return ((await server.ask('usage')) - before) / BATCH
  }
  const alone = async () => {
    const before = performance.now()
    for (let n = 0; n < BATCH; n++) await (await fetch(request.url, request)).arrayBuffer()
    return ((performance.now() - before) * 1000) / BATCH
  }
  return { batch, alone, stop: server.stop }
}

const payment = async (url) => (await prepare(url)).pay
const post = async (url) => ({ url, method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })

export async function journalFigures({ rounds }) {
  const servers = {
    kept: await started('farthing', payment),
    free: await started('farthing-without-journal', payment),
    raw: await started('raw', post),
  }
  try {
    // So many that the journal is full, and forgets an entry with each new one.
    for (let n = 0; n < 11; n++) await Promise.all([servers.kept.batch(), servers.free.batch()])
    await servers.raw.batch()
    const compare = async (measure, names) => {
      const figures = []
      for (let round = 0; round < rounds * 10; round++) {
        const took = {}
        for (const name of round % 2 === 0 ? names : names.toReversed()) took[name] = await servers[name][measure]()
        figures.push(took)
      }
      const times = names.map((name) => `${median(figures.map((figure) => figure[name])).toFixed(0)} us`)
      return { ratio: median(figures.map(({ kept, free }) => kept / free)), times }
    }
    const cpu = await compare('batch', ['kept', 'free', 'raw'])
    const alone = await compare('alone', ['kept', 'free', 'raw'])
    const detail = ([kept, free, raw]) => `${kept} beside ${free}, and ${raw} of raw node:http`
    return [
      {
        name: 'time of a payment over HTTP with the journal / without',
        ratio: alone.ratio,
        target: '<= 1.10',
        detail: detail(alone.times),
      },
      {
        name: 'processor time of a payment over HTTP with the journal / without',
        ratio: cpu.ratio,
        target: '<= 1.10',
        detail: detail(cpu.times),
      },
    ]
  } finally {
    for (const { stop } of Object.values(servers)) stop()
  }
}
