import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { createService } from '../../src/index.js'
import { Tables } from '../../src/storage/tables/tables.js'
import { newAccount, paymentOf } from '../support/scenes/x402.js'

/** What one warm call of an operation runs. */
export interface MeasuredCall {
  readonly calls: number
  readonly files: number
  /** Reads of committed rows, and draws of ids. */
  readonly storageCalls: number
  /** The most objects that a read passes on its way from the rule to the committed rows. */
  readonly objectsToRows: number
  /** By file and name, how often each function ran. V8 counts each time that an async function goes on. */
  readonly functions: Readonly<Record<string, number>>
}

const BASE = 'http://127.0.0.1:4242'
/** After so many payments nothing is loaded or filled for the first time. */
const WARM = 200

const service = createService({ sandbox: true, baseUrl: BASE })
const session = new Session()
session.connect()

async function call(method: string, path: string, token?: string, body?: object, headers: Record<string, string> = {}) {
  const response = await service.fetch(
    new Request(BASE + path, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    }),
  )
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

async function tokenOf(
  kind: 'account' | 'user',
  secret: { readonly client_id: string; readonly client_secret: string },
): Promise<string> {
  const response = await service.fetch(
    new Request(`${BASE}/v4/${kind}/oauth/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${secret.client_id}:${secret.client_secret}`)}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    }),
  )
  return (await response.json()).access_token
}

/** Functions by script and place. The scripts are bundles, in which a comment names the file of what follows. */
async function measure(run: () => Promise<unknown>): Promise<MeasuredCall> {
  const rows = watchRows()
  await run()
  rows.end()
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await run()
  // The journal and the loops end their part after the answer.
  await new Promise((resolve) => setTimeout(resolve, 50))
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const functions: Record<string, number> = {}
  const ran = new Set<string>()
  let calls = 0
  for (const { url, functions: covered } of result) {
    if (!url.startsWith(FOLDER)) continue
    const text = readFileSync(fileURLToPath(url), 'utf8')
    const files = filesIn(text)
    for (const { functionName, ranges } of covered) {
      const [whole] = ranges
      // The script itself is a function too.
      if (!whole || whole.count === 0 || whole.startOffset === 0) continue
      const file = files.findLast(({ start }) => start <= whole.startOffset)?.file ?? ''
      if (!COUNTED.test(file)) continue
      const name = `${file} ${functionName || text.slice(whole.startOffset, whole.startOffset + 40).split('\n', 1)[0]}`
      functions[name] = (functions[name] ?? 0) + whole.count
      ran.add(file)
      calls += whole.count
    }
  }
  return { calls, files: ran.size, storageCalls: rows.calls, objectsToRows: rows.objects, functions }
}

const FOLDER = new URL('.', import.meta.url).href

/** The sources, and the packages that are part of what is published. */
const COUNTED = /^(src|adapters|node_modules\/(zod|@noble\/curves))\//

/** Where each file of a bundle begins. */
const filesIn = (text: string) =>
  [...text.matchAll(/^\/\/ ((?:[\w.@-]+\/)*[\w.@-]+\.\w+)$/gm)].map(({ index, 1: file = '' }) => ({
    start: index,
    file,
  }))

/** Counts the calls that reach the committed rows, and the methods of the same name that each came through. */
function watchRows() {
  const watched = { calls: 0, objects: 0, end }
  const own = new Map(METHODS.map((name) => [name, Reflect.get(Tables.prototype, name)]))
  for (const [name, method] of own)
    Reflect.set(Tables.prototype, name, function (this: Tables, ...given: unknown[]) {
      watched.calls++
      watched.objects = Math.max(watched.objects, objectsIn(new Error().stack ?? ''))
      return Reflect.apply(method, this, given)
    })
  function end(): void {
    for (const [name, method] of own) Reflect.set(Tables.prototype, name, method)
  }
  return watched
}

const METHODS = ['get', 'getMany', 'find', 'nextId', 'nextIds'] as const

/** The objects whose reading methods follow one another at the top of a stack. The first is the watched one. */
function objectsIn(stack: string): number {
  let objects = 0
  let last: readonly string[] = []
  for (const frame of stack.split('\n').slice(2)) {
    const [, object = '', method = ''] = /at (?:async )?([\w$]+)\.(get|getMany|find|nextId|nextIds) /.exec(frame) ?? []
    if (object === '') break
    // An object may answer one method by another of its own.
    if (object !== last[0] || method === last[1]) objects++
    last = [object, method]
  }
  return objects
}

const account = await call('POST', '/v4/account')
const seller = await tokenOf('account', account.secrets[1])
const [dq] = (await call('GET', '/v4/dq')).digital_quantities
const twin = await call('POST', '/v4/twin', seller, { dq })
const commodity = await call('POST', '/v4/commodity', seller, { descriptor: 'COUNT', dq, cost: 0.01, twin_id: twin.id })
const user = await call('POST', '/v4/user', seller, { email: 'count@example.test' })
const payer = await tokenOf('user', user.secrets[0])
const [wallet] = (await call('GET', '/v4/twins', payer)).twins
await service.sandbox.fund({ hostname: wallet.hostname, amount: 1000 })
let key = 1000
const pay = () => call('POST', `/v4/payment/${commodity.hash}`, payer, {}, { 'idempotency-key': `payment-${key++}` })
const read = () => call('GET', `/v4/twin/${twin.hostname}`, seller)
for (let i = 0; i < WARM; i++) await pay()
for (let i = 0; i < WARM; i++) await read()
await session.post('Profiler.enable')
await measure(pay)
const counted = { payment: await measure(pay), twin: await measure(read) }

const wallet402 = newAccount()
await service.sandbox.fund({ address: wallet402.address, amount: 1000 })
const verified: object[] = []
for (let i = 0; i < WARM + 4; i++) verified.push(await paymentOf(wallet402))
/** As a shop does: it had the payment verified a moment before. */
const settle = () => call('POST', '/x402/settle', undefined, verified.pop())
for (let i = 0; i < WARM; i++) await settle()
for (const payment of verified) await call('POST', '/x402/verify', undefined, payment)

const measured = { ...counted, settlement: await measure(settle) }
await service.close()
process.stdout.write(JSON.stringify(measured))
