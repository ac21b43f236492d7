import type { Call } from '../api.js'
import { modern, send } from '../mcp/mcp.js'
import { FAILING } from '../scenes/billing.js'
import { binderCsv, binderHash, sendBinder } from '../scenes/binders.js'
import { newItem, purchase, putParameters } from '../scenes/catalog.js'
import { advance, fund, pay } from '../scenes/market.js'
import { basic, newSeller, newTwin, tokenFor } from '../scenes/world.js'
import type { Tour } from './tour.js'

/** Chapters of the tour in which people sell and buy. */

export async function money(call: Call, { seller, ada, article }: Tour): Promise<void> {
  const { token } = seller
  await call('PUT', '/v4/account', { token, body: { name: 'The Daily Quark' } })
  await call('GET', '/v4/account', { token })
  await call('GET', '/v2/users?limit=2', { token })
  await call('GET', `/v4/user/${ada.id}`, { token: ada.token })
  await call('POST', '/v4/user/secrets', { token: ada.token, body: {} })
  await call('POST', '/v4/user/oauth/token', {
    headers: basic(ada.clientId, ada.clientSecret),
    body: { grant_type: 'client_credentials' },
  })
  const login = { headers: basic(seller.clientId, seller.clientSecret), body: { grant_type: 'client_credentials' } }
  await call('POST', '/v4/account/oauth/token', login)
  await call('GET', '/v2/twin/dq')
  const { nonce } = (await call('POST', '/v2/twin/nonce', { token, body: { hostname: article.hostname } })).body
  await call('PUT', '/v2/twin/nonce', { token, body: { hostname: article.hostname, nonce } })
  await call('GET', '/v4/twins?limit=2', { token })
  await call('GET', `/v4/commodity/${article.hash}`)
  await call('GET', '/v4/commodities?limit=2', { token })
  const paid = await pay(call, ada, article, { hostname: ada.hostname, cost: 0.25, dq: article.dq })
  await call('GET', `/v4/payment/${article.hash}/validate?nonce=${paid.nonce}&timestamp=${paid.timestamp}`, { token })
  const proof = { nonce: paid.nonce, timestamp: paid.timestamp }
  await call('POST', `/v4/payment/${article.hash}/validate`, { token, body: proof })
  await call('GET', '/v4/payments?limit=2', { token: ada.token })
  await call('GET', `/v4/payments/${paid.id}`, { token: ada.token })
  await call('GET', `/v4/commodity/${article.hash}/transactions?limit=2`, { token })
  const accept = { accept: 'application/json' }
  await call('GET', `/v4/twin/${article.hostname}?public_secret=${seller.publicSecret}`)
  await call('GET', `/v4/twin/${article.hostname}`, { token })
  await call('GET', `/v4/twin/${article.hostname}/binder`, { token, headers: accept })
  await call('GET', `/v4/twin/${article.hostname}/inventory`, { token, headers: accept })
  const offered = { descriptor: 'NEWS.CONSENT', dq: article.dq, cost: 0.1, twin_id: article.twinId, payback: true }
  const { hash } = (await call('POST', '/v4/commodity', { token, body: offered })).body
  const consent = { consent: ['You may write to me.'], origin: 'https://shop.example.test' }
  await call('POST', `/v4/payback/${hash}`, { token: ada.token, body: consent })
  await call('PUT', `/v4/commodity/${hash}/payback`, { token, body: { enabled: false } })
  const card = { amount: 5, payment_method_id: 'pm_card_visa' }
  await call('POST', `/v4/twin/${ada.hostname}/topup`, { token: ada.token, body: card })
}

export async function catalog(call: Call, tour: Tour): Promise<void> {
  const { seller, ada, item } = tour
  const { token } = seller
  await call('GET', '/v4/catalog/items?query=weather&limit=2')
  await call('GET', `/v4/catalog/items/${item.id}`)
  await call('PUT', `/v4/catalog/items/${item.id}`, { token, body: { description: 'The weather of a city, by hour.' } })
  await call('GET', '/v4/catalog/mine?limit=2', { token })
  await putParameters(call, seller, item, [{ kind: 'query', name: 'key', value: 'x' }])
  await call('GET', `/v4/catalog/items/${item.id}/parameters`, { token })
  const old = await newItem(call, seller, { name: 'Old weather' })
  await call('POST', `/v4/catalog/items/${old.id}/archive`, { token })
  await call('POST', `/v4/catalog/items/${old.id}/restore`, { token })
  await purchase(call, ada, item, { arguments: { city: 'Oslo' }, price: item.price, dq: item.dq })
  const { purchases } = (await call('GET', '/v4/purchases?limit=2', { token: ada.token })).body
  await call('GET', `/v4/purchases/${purchases[0].transaction_id}`, { token: ada.token })
  const tool = {
    name: 'Greeter',
    description: 'Says hello.',
    provider: 'Hello Works',
    price_per_call: 0.01,
    service_url: 'https://api.example.test/hello',
    service_method: 'GET',
    input_schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  }
  const made = await call('POST', '/v4/mcp/tools', { token, body: tool })
  await call('GET', '/v4/mcp/tools?limit=2', { token })
  const greeter = made.body.tool.id
  await call('PUT', `/v4/mcp/tools/${greeter}`, { token, body: { ...tool, description: 'Says hello, politely.' } })
  await call('DELETE', `/v4/mcp/tools/${greeter}`, { token })
}

export async function carts(call: Call, { ada, item }: Tour): Promise<void> {
  const { token } = ada
  const cart = `/v4/carts/${(await call('POST', '/v4/carts', { token })).body.id}`
  const line = { catalog_item_id: item.id, arguments: { city: 'Oslo' }, quantity: 2 }
  await call('POST', `${cart}/items`, { token, body: line })
  const { body } = await call('POST', `${cart}/items`, { token, body: { ...line, arguments: { city: 'Rome' } } })
  const last = `${cart}/items/${body.items.at(-1).line}`
  await call('PUT', last, { token, body: { arguments: { city: 'Turin' }, quantity: 1 } })
  await call('DELETE', last, { token })
  await call('GET', cart, { token })
  await call('POST', `${cart}/pay`, { token, body: { hostname: ada.hostname, accept_prices: true } })
  const left = (await call('POST', '/v4/carts', { token })).body.id
  await call('DELETE', `/v4/carts/${left}`, { token })
}

export async function checkout(call: Call, tour: Tour): Promise<void> {
  const { seller, ada, item } = tour
  const { token } = seller
  const body = {
    catalog_item_id: item.id,
    arguments: { city: 'Oslo' },
    email: 'ada@example.test',
    success_url: 'https://shop.example.test/thanks',
    cancel_url: 'https://shop.example.test/cart',
  }
  const link = async () => (await call('POST', '/v4/checkout', { token, body })).body.token as string
  const first = await link()
  await call('GET', `/v4/checkout/${first}`)
  const wallet = { hostname: ada.hostname, price: item.price, dq: item.dq }
  await call('POST', `/v4/checkout/${first}/complete`, { token: ada.token, body: wallet })
  await call('GET', `/v4/checkout/${first}`)
  const second = await link()
  const session = (await call('GET', '/v4/session')).body.session_id
  await call('GET', `/checkout/${second}?step=email`, { session })
  const form = { answer: 'continue', email: 'reader@example.test' }
  await call('POST', `/checkout/${second}`, { session, form })
  // A card is charged for nothing, and its processor refuses the refund.
  const third = await link()
  tour.upstream.status = 500
  await call('POST', `/v4/checkout/${third}/complete`, { session, body: { payment_method_id: 'pm_card_visa' } })
  tour.upstream.status = 200
  await call('POST', `/v4/checkout/${third}/complete`, { token: ada.token, body: {} })
  const { refunds } = await tour.until('/v4/checkout/refunds?limit=2', token, ({ refunds: all }) => all.length > 0)
  await call('POST', `/v4/checkout/refunds/${refunds[0].id}/settle`, { token, body: { outcome: 'returned' } })
}

export async function billing(call: Call, { seller }: Tour): Promise<void> {
  let { token } = seller
  const ask = (method: string, path: string, body?: object) =>
    call(method, `/v4/billing${path}`, { token, ...(body && { body }) })
  await ask('GET', '/plans')
  await ask('PUT', '/profile', {
    business_name: 'The Daily Quark',
    business_address: '1 Quark Street, Zurich',
    billing_email: 'billing@example.test',
    tax_number: 'DE123456789',
  })
  await ask('GET', '/profile')
  await ask('PUT', '/plan', { plan: 'growth', payment_method_id: 'pm_card_visa' })
  // Can be put on file, and is declined when the next month is due.
  await ask('PUT', '/card', { payment_method_id: FAILING })
  await advance(call, '31d')
  token = await tokenFor(call, seller.clientId, seller.clientSecret)
  await ask('GET', '')
  const [owed] = (await ask('GET', '/invoices?limit=2')).body.invoices
  await ask('GET', `/invoices/${owed.id}`)
  await ask('POST', `/invoices/${owed.id}/pay`, { payment_method_id: 'pm_card_visa' })
  token = (await newSeller(call)).token
  await ask('PUT', '/card', { payment_method_id: 'pm_card_visa' })
  await ask('DELETE', '/card')
}

/** Snapshots with names, forks, and the way back. */
async function states(call: Call): Promise<void> {
  await call('POST', '/_sandbox/snapshots', { body: { name: 'before', note: 'Before the sale.' } })
  await call('GET', '/_sandbox/snapshots')
  await call('GET', '/_sandbox/snapshots/before/compare/current')
  await call('POST', '/_sandbox/rewind', { body: { to: 'before' } })
  await call('DELETE', '/_sandbox/snapshots/before')
  for (const path of ['/_sandbox/forks', '/_sandbox/fork']) {
    const { id } = (await call('POST', path)).body
    await call('GET', '/_sandbox/forks')
    await call('DELETE', `/_sandbox/forks/${id}`)
  }
}

async function rehearsals(call: Call): Promise<void> {
  const fault = { kind: 'lost_after', operation: 'createPayment', nth: 1 }
  const habit = { verdict: 'paid_twice', habit: 'sends_no_key', operation: 'createPayment' }
  const told = {
    title: 'paid twice',
    sentence:
      '2 calls, 2 payments, 1 delivered: when call 1 of createPayment works, and its answer is lost, the client tries again without an Idempotency-Key.',
  }
  const diagram = 'client ──createPayment──> service  ✗ no answer  (lost after)  [posted 250]'
  const counts = { sureness: 'certain', calls: 2, payments: 2, delivered: 1 }
  await call('PUT', '/_sandbox/rehearsals/first', {
    body: {
      ...{ command: 'npm test', running: false, ok: false, runs: 4, plans: 30, random_seed: 1 },
      flags: ['--slow', '2000'],
      findings: [{ ...habit, ...counts, plan: [fault], ...told, diagram, repeat: '--random-seed 1' }],
      cells: [
        { ...fault, state: 'failed', diagram, stories: [{ ...habit, ...told }] },
        { ...fault, kind: 'slow', state: 'waiting', diagram: '', stories: [] },
      ],
    },
  })
  await call('GET', '/_sandbox/rehearsals')
  await call('GET', '/_sandbox/rehearsals/first')
}

export async function controls(call: Call, { ada, approve }: Tour): Promise<void> {
  await fund(call, ada.hostname, 1)
  await rehearsals(call)
  await call('POST', '/_sandbox/sign-in', { body: { email: ada.email } })
  await call('POST', `/_sandbox/devices/${ada.id}`, { body: { mode: 'manual', after_seconds: 0 } })
  await call('GET', `/_sandbox/devices/${ada.id}`)
  for (const verb of ['approve', 'reject']) {
    const body = { action: 'transfer', detail: { amount: 2.5 } }
    const { id } = (await call('POST', '/v4/authentication-requests', { token: ada.token, body })).body
    await call('POST', `/_sandbox/devices/${ada.id}/${verb}`, { body: { id } })
    await call('POST', `/_sandbox/approvals/${await approve()}/${verb}`)
  }
  await call('GET', '/_sandbox/health')
  await call('POST', '/_sandbox/seed', { body: { users: [{ email: 'seeded@example.test' }] } })
  await call('GET', '/_sandbox/dead-letters')
  const line = { at: Date.UTC(2024, 1, 1), identity: binderHash('file', 1), other: binderHash('twin', 1) }
  await sendBinder(call, (await newTwin(call, ada.token)).hostname, binderCsv([line]))
  await call('GET', '/_sandbox/clock')
  await call('POST', '/_sandbox/clock', { body: { advance: '1s' } })
  await call('GET', '/_sandbox/outbox?kind=mail&limit=2')
  await call('GET', '/_sandbox/test-values')
  const fault = { match: { operation_id: 'createPayment' }, at: 'after_commit', do: { drop: true }, times: 1 }
  const { id: faultId } = (await call('POST', '/_sandbox/faults', { body: fault })).body
  await call('GET', '/_sandbox/faults')
  await call('DELETE', `/_sandbox/faults/${faultId}`)
  await call('DELETE', '/_sandbox/faults')
  await call('GET', '/_sandbox/ledger')
  const { headers } = await call('GET', '/v4/payments')
  const entry = `/_sandbox/requests/${headers.get('x-request-id')}`
  await call('GET', entry)
  await call('GET', `${entry}/explain`)
  await call('GET', '/_sandbox/requests?limit=2')
  await call('POST', `${entry}/replay`, { body: { in: 'fork', diff: true } })
  await states(call)
  const readClock = modern('tools/call', { name: 'clock', arguments: {} })
  await send(call, readClock.message, { path: '/_sandbox/mcp', headers: readClock.headers })
  await call('POST', '/_sandbox/keys/rotate')
}
