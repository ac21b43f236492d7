// What forks cost: making one, its first write, its memory, and how long a rewind takes.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createService } from 'farthing'
import { memoryStorage } from 'farthing/storage/memory'
import { median } from './figures.mjs'

const BASE = 'http://127.0.0.1:4242'
const MB = 1 << 20

/** What an operation takes, in milliseconds of processor time, or of real time where that is less: one that waits for nobody. */
async function timed(work) {
  const cpu = process.cpuUsage()
  const began = performance.now()
  await work()
  const real = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  return Math.min(real, (user + system) / 1000)
}

/** A shop whose state has so many events, with the indexes that its seller and payer read. */
async function shop(rows) {
  const first = memoryStorage()
  const small = createService({ storage: first, sandbox: true })
  const seeded = await small.sandbox.seed({
    accounts: [{ name: 'Seller' }],
    users: [{ email: 'payer@example.test', balance: 1_000_000_000 }],
    commodities: [{ account: 'Seller', descriptor: 'BENCH', cost: 0.001 }],
  })
  const call = async (on, path, headers, body) => {
    const answer = await on.fetch(new Request(BASE + path, { method: 'POST', headers, ...(body && { body }) }))
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const [{ client_id, client_secret }] = seeded.users
  const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
  const { access_token } = await call(small, '/v4/user/oauth/token', { authorization })
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  const payIn = (on) => call(on, `/v4/payment/${seeded.commodities[0].hash}`, headers, '{}')
  for (let n = 0; n < 100; n++) await payIn(small)
  const storage = memoryStorage()
  await storage.import(withMoreEvents(await first.export(), rows))
  await small.close()
  // The journal holds the request that a rewind returns to.
  const service = createService({ storage, sandbox: true, journal: { entries: 100_000 } })
  const pay = (on = service) => payIn(on)
  for (const path of ['/v4/payments', '/v4/events']) await (await service.fetch(BASE + path, { headers })).text()
  await pay()
  return { service, pay }
}

/** A state whose last event has happened again and again. */
function withMoreEvents(state, rows) {
  const { events } = state.rows
  const last = events.at(-1)
  const more = Array.from({ length: rows - events.length }, (_, n) => ({ ...last, id: last.id + 1 + n }))
  return {
    ...state,
    counters: { ...state.counters, events: rows },
    rows: { ...state.rows, events: events.concat(more) },
  }
}

function heap() {
  for (let n = 0; n < 3; n++) globalThis.gc()
  return process.memoryUsage().heapUsed
}

async function repeated(times, work) {
  const took = []
  for (let n = 0; n < times; n++) took.push(await work())
  return took
}

/** Figures at a number of rows, in milliseconds and megabytes. */
async function measure(rows) {
  const { service, pay } = await shop(rows)
  const fork = async () => {
    let forked
    const ms = await timed(async () => (forked = await service.sandbox.fork()))
    return { ms, forked }
  }
  for (const { forked } of await repeated(20, fork)) {
    await pay(forked)
    await forked.close()
  }
  const pairs = await repeated(40, async () => {
    const { ms, forked } = await fork()
    const first = await timed(() => pay(forked))
    const second = await timed(() => pay(forked))
    // The next fork is of a state that was written since.
    const own = await timed(() => pay())
    await forked.close()
    return { ms, first: first - second, own }
  })
  const of = (key) => median(pairs.map((pair) => pair[key]))
  const worst = Math.max(...pairs.map(({ first }) => first))
  const before = heap()
  const live = await repeated(1000, async () => (await fork()).forked)
  const idle = (heap() - before) / MB
  for (const each of live) await pay(each)
  const written = (heap() - before) / MB
  await Promise.all(live.map((each) => each.close()))
  await service.close()
  return { rows, fork: of('ms'), first: of('first'), worst, own: of('own'), idle, written }
}

/** Milliseconds in which a service returns to the state before so many payments. */
async function rewinds(commits) {
  const { service, pay } = await shop(1000)
  const took = await repeated(commits > 1000 ? 3 : 15, async () => {
    const answer = await service.fetch(`${BASE}/v4/dq`)
    await answer.text()
    for (let n = 0; n < commits; n++) await pay()
    return timed(() => service.sandbox.rewind(answer.headers.get('x-request-id')))
  })
  await service.close()
  return median(took)
}

/** Each size in a process of its own, because a large heap slows everything down. */
function inProcess(rows) {
  const args = ['--expose-gc', '--max-old-space-size=6000', fileURLToPath(import.meta.url), String(rows)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (part) => (said += part))
  return new Promise((resolve, reject) =>
    child.on('exit', (code) => (code === 0 ? resolve(JSON.parse(said)) : reject(new Error(`ended with ${code}`)))),
  )
}

export async function forksFigures() {
  const figures = []
  for (const [rows, most] of [
    [10_000, 2],
    [1_000_000, 20],
  ]) {
    const at = await inProcess(rows)
    const shown = (ms) => `${ms.toFixed(2)} ms`
    const detail = `the first payment in a fork takes ${shown(at.first)} more than the second (at worst ${shown(at.worst)})`
    figures.push({ name: `ms for a fork of ${rows} rows`, ratio: at.fork, target: `<= ${most}`, detail })
    const memory = `${at.idle.toFixed(0)} MB of heap, ${at.written.toFixed(0)} MB after a payment in each`
    figures.push({ name: `MB for 1,000 forks of ${rows} rows`, ratio: at.idle, target: '<= 100', detail: memory })
  }
  for (const commits of [1, 100, 10_000]) {
    const ms = await rewinds(commits)
    figures.push({ name: `ms to rewind ${commits} commits`, ratio: ms, target: '<= 1000', detail: 'in memory' })
  }
  return figures
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(JSON.stringify(await measure(Number(process.argv[2]))))
