// Payments over HTTP on PostgreSQL with one process and with three, to one seller and to many: their rate beside pgbench's, and
// the processor time of a payment in Node and in the database.
import autocannon from 'autocannon'
import { median } from './figures.mjs'
import { startServer } from './http.mjs'
import { orderFigures } from './postgres-orders.mjs'
import { startPostgres } from './postgres-server.mjs'

const CLIENTS = 64
const numbers = Array.from({ length: CLIENTS }, (_, n) => n)
const JSON_TYPE = { 'content-type': 'application/json' }

/** As many sellers and payers as clients. */
async function openMarket(url) {
  const call = async (path, headers, body) => {
    const sent = body && { body: JSON.stringify(body) }
    const answer = await fetch(url + path, { method: 'POST', headers: { ...(body && JSON_TYPE), ...headers }, ...sent })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const seeded = await call(
    '/_sandbox/seed',
    {},
    {
      accounts: numbers.map((n) => ({ name: `Seller ${n}` })),
      users: numbers.map((n) => ({ email: `payer-${n}@example.test`, balance: 1_000_000 })),
      commodities: numbers.map((n) => ({ account: `Seller ${n}`, descriptor: 'BENCH', cost: 0.001 })),
    },
  )
  const payers = []
  for (const { client_id, client_secret } of seeded.users) {
    const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
    const { access_token } = await call('/v4/user/oauth/token', { authorization })
    payers.push({ ...JSON_TYPE, authorization: `Bearer ${access_token}` })
  }
  const hashes = seeded.commodities.map(({ hash }) => hash)
  return (payer, seller) => ({
    method: 'POST',
    path: `/v4/payment/${hashes[seller]}`,
    headers: payers[payer],
    body: '{}',
  })
}

/** Pays with all clients at once, spread over the processes. */
async function run({ urls, paying }, { sellerOf, seconds }) {
  const results = await Promise.all(
    urls.map((url, at) => {
      let next = at
      return autocannon({
        url,
        connections: numbers.filter((n) => n % urls.length === at).length,
        duration: seconds,
        setupClient(client) {
          client.setRequests([paying(next, sellerOf(next))])
          next += urls.length
        },
      })
    }),
  )
  for (const { non2xx, errors } of results)
    if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} refusals, ${errors} errors`)
  return {
    perSecond: results.reduce((sum, { requests, duration }) => sum + requests.total / duration, 0),
    total: results.reduce((sum, { requests }) => sum + requests.total, 0),
    p99: Math.max(...results.map(({ latency }) => latency.p99)),
  }
}

const one = () => 0
const own = (n) => n

/** Measures processes over one database: payments to one seller and to many, and what each takes of Node and of the database. */
async function measure(servers, database, { rounds, seconds }) {
  const urls = servers.map(({ url }) => url)
  const market = { urls, paying: await openMarket(urls[0]) }
  const usage = async () => {
    const asked = await Promise.all(servers.map((server) => server.ask('usage')))
    return { node: asked.reduce((sum, micros) => sum + micros, 0), database: database.usage() }
  }
  const measured = async (sellerOf) => {
    const before = await usage()
    const { perSecond, p99, total } = await run(market, { sellerOf, seconds })
    const after = await usage()
    const each = (side) => (after[side] - before[side]) / total
    return { perSecond, p99, node: each('node'), database: each('database') }
  }
  await run(market, { sellerOf: own, seconds: 2 })
  const hot = []
  const spread = []
  for (let round = 0; round < rounds; round++) {
    hot.push(await measured(one))
    spread.push(await measured(own))
  }
  const of = (runs, figure) => median(runs.map((each) => each[figure]))
  return {
    hot: of(hot, 'perSecond'),
    spread: of(spread, 'perSecond'),
    p99: Math.max(of(hot, 'p99'), of(spread, 'p99')),
    node: of(spread, 'node'),
    database: of(spread, 'database'),
  }
}

const shown = ({ hot, spread, p99 }) =>
  `${hot.toFixed(0)}/s to one seller, ${spread.toFixed(0)}/s to ${CLIENTS}, p99 ${p99.toFixed(0)} ms`

export async function postgresFigures({ rounds, seconds }) {
  const database = await startPostgres()
  const servers = []
  /** Measures some processes over one database, alone on the machine. */
  const measured = async (count, name) => {
    const started = []
    const url = database.newDatabase(name)
    for (let n = 0; n < count; n++) started.push(await startServer('farthing-on-postgres', url))
    servers.push(...started)
    const figures = await measure(started, database, { rounds, seconds })
    for (const server of started) server.stop()
    return figures
  }
  try {
    const single = await measured(1, 'single')
    const three = await measured(3, 'three')
    const orders = await orderFigures(database.newDatabase('orders'), { rounds, seconds })
    const before = database.usage()
    const tps = database.tpcb({ clients: CLIENTS, seconds })
    const tpcbMicros = (database.usage() - before) / (tps * seconds)
    const cost = (name, { node, database: micros }) => ({
      name: `us of processor time for a payment, PostgreSQL, ${name}`,
      ratio: node + micros,
      target: '<= 400',
      detail: `Node ${node.toFixed(0)} us and the database ${micros.toFixed(0)} us; a transaction of pgbench's TPC-B takes the database ${tpcbMicros.toFixed(0)} us`,
    })
    const rate = (name, figures) => ({
      name: `payments per second, PostgreSQL, ${name}`,
      ratio: Math.min(figures.hot, figures.spread),
      target: '>= 5000',
      detail: shown(figures),
    })
    return [
      rate('3 processes', three),
      rate('1 process', single),
      cost('3 processes', three),
      cost('1 process', single),
      {
        name: 'to one seller / to many, PostgreSQL, 3 processes',
        ratio: three.hot / three.spread,
        target: '>= 0.9',
        detail: `1 process: ${(single.hot / single.spread).toFixed(2)}`,
      },
      { name: `p99 in ms, ${CLIENTS} clients, 3 processes`, ratio: three.p99, target: '<= 100', detail: shown(three) },
      {
        name: "payments, 3 processes / transactions of pgbench's TPC-B",
        ratio: three.spread / tps,
        target: '>= 1',
        detail: `${tps.toFixed(0)} transactions/s on the same server`,
      },
      ...orders,
    ]
  } finally {
    for (const server of servers) server.stop()
    database.stop()
  }
}
