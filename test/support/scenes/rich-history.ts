import type { Fault, Service, ServiceOptions } from '../../../src/index.js'
import { drawn } from '../../../src/sandbox/faults/armed-faults.js'
import type { Entry } from '../../../src/sandbox/onion/entry.js'

/** How long the ports of a run take, in milliseconds. */
export type Slowness = () => number

const BEGIN = Date.UTC(2031, 4, 1, 12)

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** The options of a service whose runs are all the same, with ports that take their time. */
export function repeatable(slowness: Slowness): ServiceOptions {
  let draws = 0
  const draw = () => drawn(2031, ++draws)
  const takeTime = async () => {
    const ms = slowness()
    if (ms > 0) await sleep(ms)
  }
  return {
    sandbox: true,
    clock: { now: () => BEGIN },
    random: { bytes: (count) => Uint8Array.from({ length: count }, () => Math.floor(draw() * 256)) },
    log: { error() {} },
    mailer: { send: takeTime },
    push: { send: takeTime },
    cards: {
      async save({ payment_method_id }) {
        await takeTime()
        const card = { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2040 }
        return { status: 'saved', payment_method_id: `saved_${payment_method_id}`, card }
      },
      async charge({ id }) {
        await takeTime()
        return { status: 'succeeded', charge_id: `ch_${id}` }
      },
      async refund({ id }) {
        await takeTime()
        return { status: 'refunded', refund_id: `re_${id}` }
      },
    },
    upstream: {
      async fetch({ url }) {
        await takeTime()
        return url.includes('gone') ? new Response(null, { status: 500 }) : Response.json({ warm: true })
      },
    },
  }
}

/** Faults that fire by probability, in every place. */
export const FLAKY: readonly Fault[] = [
  { match: { port: 'mail' }, at: 'before', do: { error: 'ECONNREFUSED' }, probability: 0.3 },
  { match: { port: 'push' }, at: 'after_commit', do: { drop: true }, probability: 0.9 },
  { match: { port: 'card' }, at: 'after_commit', do: { drop: true }, probability: 0.9 },
  { match: { port: 'upstream' }, at: 'before', do: { status: 503 }, probability: 0.4 },
  { match: { port: 'webhook' }, at: 'after_commit', do: { duplicate: true }, probability: 0.3 },
  { match: { port: 'webhook' }, at: 'before', do: { drop: true }, probability: 0.3 },
  { match: { method: 'GET' }, at: 'before', do: { status: 503 }, probability: 0.2 },
]

interface Sent {
  readonly token?: string
  readonly session?: string
  readonly key?: string
  readonly body?: object
}

/** Sends one request after the other, whatever becomes of them. Returns what they answered. */
function senderTo(send: (path: string, init: RequestInit) => Promise<Response>) {
  const transcript: string[] = []
  const call = async (method: string, path: string, { token, session, key, body }: Sent = {}) => {
    const headers = {
      ...(token !== undefined && { authorization: token }),
      ...(session !== undefined && { 'x-session-id': session }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(body && { 'content-type': 'application/json' }),
    }
    try {
      const answer = await send(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      const text = await answer.text()
      transcript.push(`${method} ${path} ${answer.status} ${text}`)
      return text.startsWith('{') ? JSON.parse(text) : undefined
    } catch (error) {
      transcript.push(`${method} ${path} ${error instanceof Error ? error.name : error}`)
      return undefined
    }
  }
  return { call, transcript }
}

/** What a run left behind. */
export interface RichHistory {
  /** Every entry of the journal in JSON, the oldest first, without durations. */
  readonly journal: readonly string[]
  readonly entries: readonly Entry[]
  readonly transcript: readonly string[]
}

/**
 * Payments, retries, refusals, invitations, sign-in codes, card charges, purchases, approvals on a phone, webhooks that
 * succeed and fail, and a month that passes, while `faults` happen.
 */
export async function richHistory(
  service: Service,
  send: (path: string, init: RequestInit) => Promise<Response>,
  faults: readonly Fault[] = FLAKY,
): Promise<RichHistory> {
  const { sandbox } = service
  const { call, transcript } = senderTo(send)
  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  const seeded = await sandbox.seed({
    accounts: [{ name: 'Shop', hostname: 'shop.test' }],
    users: [
      { email: 'ada@example.test', balance: 20, hostname: 'ada.test' },
      { email: 'bob@example.test', hostname: 'bob.test' },
    ],
    commodities: [{ account: 'Shop', descriptor: 'NEWS', cost: 0.25 }],
  })
  const [shop, ada, bob] = [...seeded.accounts, ...seeded.users]
  const [article] = seeded.commodities
  if (!shop || !ada || !bob || !article) throw new TypeError('the seed is incomplete')
  const tokenOf = async ({ client_id, client_secret }: { client_id: string; client_secret: string }) => {
    const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
    const { access_token } = await call('POST', '/v4/account/oauth/token', { token: authorization })
    return `Bearer ${access_token}`
  }
  let token = await tokenOf(ada)
  let seller = await tokenOf(shop)
  const hook = (path: string, events: string[]) =>
    call('POST', '/v4/webhooks', { token: seller, body: { url: `https://shop.example.test/${path}`, events } })
  await hook('hook', ['*'])
  await hook('gone', ['payment.*'])
  const item = await call('POST', '/v4/catalog/items', {
    token: seller,
    body: {
      ...{ name: 'Weather', description: 'The weather of a city.', price: 0.5, service_method: 'GET' },
      external_endpoint: 'https://api.example.test/weather',
      service_schema: { type: 'object', properties: {} },
    },
  })
  for (const fault of faults) await sandbox.faults.arm(fault)
  const pay = (key: string, by = token) => call('POST', `/v4/payment/${article.hash}`, { token: by, key, body: {} })
  for (let n = 0; n < 4; n++) {
    await pay(`once-${n}`)
    await pay(`once-${n}`)
    await call('POST', `/v4/catalog/items/${item.id}/purchases`, { token, body: {} })
    await call('GET', '/v4/payments', { token })
  }
  await pay('poor', await tokenOf(bob))
  await call('POST', '/v4/twin/ada.test/topup', { token, body: { amount: 5, payment_method_id: 'pm_1' } })
  await call('POST', '/v4/transfer', { token, body: { address: 'friend@example.test', amount: 1 } })
  const session = (await call('GET', '/v4/session'))?.session_id ?? (await call('GET', '/v4/session'))?.session_id
  await call('POST', '/v4/session/code', { session, body: { email: 'ada@example.test' } })
  await call('POST', `/_sandbox/devices/${bob.id}`, { body: { mode: 'approve', after_seconds: 30 } })
  const asking = { token: await tokenOf(bob), body: { action: 'transfer', detail: { amount: 1 } } }
  await call('POST', '/v4/authentication-requests', asking)
  const advance = (duration: string) => call('POST', '/_sandbox/clock', { body: { advance: duration } })
  await advance('1m')
  await call('GET', '/_sandbox/outbox?limit=100')
  await advance('2h')
  token = await tokenOf(ada)
  await pay('later')
  await advance('35d')
  seller = await tokenOf(shop)
  await call('GET', '/v4/webhooks', { token: seller })
  await call('GET', '/v4/events?limit=100', { token: seller })
  await sandbox.faults.clear()
  await advance('0s')
  const { requests, next } = await sandbox.requests.list({ limit: 1000 })
  if (next !== null) throw new TypeError('the history is longer than a page')
  const entries = requests.toReversed()
  return { entries, journal: entries.map((entry) => JSON.stringify({ ...entry, ms: entry.ms !== null })), transcript }
}
