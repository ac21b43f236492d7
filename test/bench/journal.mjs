// What the journal and the history of commits cost: the processor time of a payment and of a read, as servers with and without
// them take turns. Over a connection the client's own time hides most of it, so only the server's is compared.
import { median } from './figures.mjs'
import { load, prepare, startServer } from './http.mjs'

const BATCH = { amount: 2000 }
/** So many requests that the journal is full, and forgets an entry with each new one. */
const FULL = { amount: 11_000 }

export async function journalFigures({ rounds }) {
  const servers = { kept: await startServer('farthing'), free: await startServer('farthing-without-journal') }
  const names = Object.keys(servers)
  try {
    const requests = {}
    for (const name of names) requests[name] = await prepare(servers[name].url)
    const compare = async (kind) => {
      const figures = []
      for (const name of names) await load(servers[name], requests[name][kind], FULL)
      for (let round = 0; round < rounds * 10; round++) {
        const took = {}
        for (const name of round % 2 === 0 ? names : names.toReversed())
          took[name] = (await load(servers[name], requests[name][kind], BATCH)).micros
        figures.push(took)
      }
      const [kept, free] = names.map((name) => median(figures.map((figure) => figure[name])).toFixed(0))
      return { ratio: median(figures.map(({ kept, free }) => kept / free)), detail: `${kept} us beside ${free} us` }
    }
    return [
      { name: 'processor time of a payment with the journal / without', target: '<= 1.10', ...(await compare('pay')) },
      {
        name: 'processor time of a twin read with the journal / without',
        target: '<= 1.10',
        ...(await compare('readTwin')),
      },
    ]
  } finally {
    for (const { stop } of Object.values(servers)) stop()
  }
}
