// Requests per second over HTTP, each beside its rival in turn, so that both meet the same noise.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { median } from './figures.mjs'

const CLIENTS = 32
const JSON_TYPE = { 'content-type': 'application/json' }

const basic = (id, secret) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` })

export const startServer = (...args) => startScript(fileURLToPath(new URL('./server.mjs', import.meta.url)), ...args)

/** Starts a `server.mjs`, of this commit or of another one. */
export function startScript(script, ...args) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'ignore', 'ipc'] })
  return new Promise((resolve, reject) => {
    child.stdout.once('data', (line) =>
      resolve({ url: JSON.parse(line).url, stop: () => child.kill(), ask: (what) => ask(child, what) }),
    )
    child.once('exit', (code) => reject(new Error(`the ${args[0]} server ended with ${code}`)))
  })
}

/**
 * Asks a server. `usage`: the processor time that it has used, in microseconds. `delay`: the delay of its event loop since
 * the last such question, in milliseconds.
 */
const ask = (child, what) =>
  new Promise((resolve) => {
    child.once('message', resolve)
    child.send(what)
  })

/**
 * Sends a request again and again, for `duration` seconds or `amount` times. Returns the requests per second, and the microseconds
 * of the server's processor time for each. Throws when any answer is not a 2xx.
 */
export async function load(server, request, options) {
  const before = await server.ask('usage')
  const { requests, duration, non2xx, errors } = await autocannon({ ...request, connections: CLIENTS, ...options })
  if (non2xx > 0 || errors > 0) throw new Error(`${request.url}: ${non2xx} refusals, ${errors} errors`)
  const micros = (await server.ask('usage')) - before
  return { perSecond: requests.total / duration, micros: micros / requests.total }
}

const shown = ({ perSecond, micros }) => `${Math.round(perSecond)}/s at ${Math.round(micros)} us`

/** A seller's commodity, and a payer who affords any number of it. */
export async function prepare(url) {
  const call = async (method, path, headers, body) => {
    const sent = body && { body: JSON.stringify(body) }
    const answer = await fetch(url + path, { method, headers: { ...(body && JSON_TYPE), ...headers }, ...sent })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const bearer = async ({ client_id, client_secret }) => {
    const pair = await call('POST', '/v4/account/oauth/token', basic(client_id, client_secret))
    return { authorization: `Bearer ${pair.access_token}` }
  }
  const client = (await call('POST', '/v4/account')).secrets[1]
  const seller = await bearer(client)
  const [dq] = (await call('GET', '/v4/dq')).digital_quantities
  const twin = await call('POST', '/v4/twin', seller, { dq })
  const commodity = await call('POST', '/v4/commodity', seller, {
    descriptor: 'BENCH',
    dq,
    cost: 0.001,
    twin_id: twin.id,
  })
  const payer = await bearer((await call('POST', '/v4/user', seller, { email: 'payer@example.test' })).secrets[0])
  const [wallet] = (await call('GET', '/v4/twins', payer)).twins
  await call('POST', '/_sandbox/fund', {}, { hostname: wallet.hostname, amount: 1_000_000_000 })
  const path = `/v4/payment/${commodity.hash}`
  return {
    readTwin: { url: `${url}/v4/twin/${twin.hostname}`, headers: seller },
    pay: { url: url + path, method: 'POST', headers: { ...JSON_TYPE, ...payer }, body: '{}' },
    token: {
      url: `${url}/v4/account/oauth/token`,
      method: 'POST',
      headers: basic(client.client_id, client.client_secret),
    },
  }
}

/** The ratio of our rate to theirs, round by round. */
async function compare({ name, target, ours, theirs, rounds, seconds }) {
  const figures = []
  for (const each of [ours, theirs]) await load(...each, { duration: 1 })
  for (let round = 0; round < rounds; round++) {
    const rival = await load(...theirs, { duration: seconds })
    const own = await load(...ours, { duration: seconds })
    figures.push({ own, rival, ratio: own.perSecond / rival.perSecond })
  }
  const middle = (side) => ({
    perSecond: median(figures.map((figure) => figure[side].perSecond)),
    micros: median(figures.map((figure) => figure[side].micros)),
  })
  const ratio = median(figures.map((figure) => figure.ratio))
  return { name, ratio, target, detail: `${shown(middle('own'))} beside ${shown(middle('rival'))}` }
}

export async function httpFigures({ rounds, seconds }) {
  const folder = mkdtempSync(join(tmpdir(), 'farthing-bench-'))
  const servers = []
  const started = async (...args) => {
    const server = await startServer(...args)
    servers.push(server)
    return server
  }
  try {
    const raw = await started('raw')
    const memory = await started('farthing')
    const file = await started('farthing', join(folder, 'data.json'))
    const provider = await started('oidc-provider')
    const { pay, readTwin, token } = await prepare(memory.url)
    const payInFile = (await prepare(file.url)).pay
    const rawPost = { url: raw.url, method: 'POST', headers: JSON_TYPE, body: '{}' }
    const providerToken = {
      url: `${provider.url}/token`,
      method: 'POST',
      headers: { ...basic('bench', 'bench-secret'), 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
    }
    const pairs = [
      ['payment, memory / raw node:http POST', '>= 0.42', [memory, pay], [raw, rawPost]],
      ['twin read, memory / raw node:http GET', '>= 0.65', [memory, readTwin], [raw, { url: raw.url }]],
      ['token / oidc-provider client credentials', '>= 4', [memory, token], [provider, providerToken]],
      ['payment, file / payment, memory', '>= 0.65', [file, payInFile], [memory, pay]],
    ]
    const figures = []
    for (const [name, target, ours, theirs] of pairs)
      figures.push(await compare({ name, target, ours, theirs, rounds, seconds }))
    return figures
  } finally {
    for (const server of servers) server.stop()
    rmSync(folder, { recursive: true })
  }
}
