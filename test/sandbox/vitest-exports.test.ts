import { beforeAll, expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { runExported, exportingSandbox as sandbox } from '../support/exported-tests.js'
import { balancesOf, pay } from '../support/scenes/market.js'
import { basic, newCommodity, newPayer, newSeller, newSession } from '../support/scenes/world.js'

const { article } = demo.commodities

/** What a careless export would quote wrongly. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: a careless template would fill it in.
const HARD = 'it\'s `id` $HOME ${y} "q" </script>\n!\\ \u2028 \u202e %s \\\' \\${z} \ud83d\ude00'

type Case = () => Promise<string>

const passing: Record<string, Case> = {
  async 'a payment'() {
    const { call, token, exported } = sandbox()
    await call('POST', `/v4/payment/${article}`, { token: await token('user:1'), body: { cost: 0.25 } })
    return exported()
  },
  async 'a payment that the balance refuses'() {
    const { call, token, exported, service } = sandbox()
    await service.sandbox.seed({ users: [{ email: 'poor@example.test' }] })
    await call('POST', `/v4/payment/${article}`, { token: await token('user:3') })
    return exported()
  },
  async 'the proof of a payment that was made before'() {
    const { call, token, exported } = sandbox()
    const { nonce, timestamp } = await pay(call, { token: await token('user:2') }, { hash: article })
    await call('POST', `/v4/payment/${article}/validate`, {
      token: await token('account:1'),
      body: { nonce, timestamp },
    })
    return exported()
  },
  async 'two payments, whose proofs cross'() {
    const { call, token, exported } = sandbox()
    const first = await pay(call, { token: await token('user:1') }, { hash: article })
    const second = await pay(call, { token: await token('user:2') }, { hash: article })
    for (const { nonce, timestamp } of [second, first, first])
      await call('POST', `/v4/payment/${article}/validate`, {
        token: await token('account:1'),
        body: { nonce, timestamp },
      })
    return exported(0)
  },
  async 'everything from a new account on'() {
    const { call, exported } = sandbox({ seed: {}, balances: 'smallest', baseUrl: 'https://pay.example.test/api' })
    const seller = await newSeller(call)
    const commodity = await newCommodity(call, seller)
    const payer = await newPayer(call, seller, { balance: 5 })
    const { nonce } = await pay(call, payer, commodity)
    await call('POST', `/v4/payment/${commodity.hash}/validate`, { token: seller.token, body: { nonce } })
    await balancesOf(call, payer.token, payer.hostname)
    await call('GET', `/v4/user/${payer.id}`, { token: seller.token })
    await call('GET', '/v4/events?limit=5', { token: payer.token })
    return exported(0)
  },
  async 'a token of a seeded account, and one that is refused'() {
    const { call, exported } = sandbox()
    const { client_id, client_secret } = demo.account
    const pair = await call('POST', '/v4/account/oauth/token', { headers: basic(client_id, client_secret) })
    const next = await call('POST', '/v4/account/oauth/token', { token: pair.body.refresh_token })
    await call('POST', '/v4/account/oauth/token', { token: next.body.refresh_token })
    await call('POST', '/v4/account/oauth/token', { token: pair.body.refresh_token })
    await call('POST', '/v4/account/oauth/token', { headers: basic(client_id, 'guess') })
    await call('GET', '/v4/twins', { token: 'guess' })
    return exported(0)
  },
  async 'a sign-in by code, and what the user does then'() {
    const { call, exported } = sandbox()
    const session = await newSession(call, 'new@example.test')
    await call('GET', '/v4/session', { session })
    await call('GET', '/v4/twins', { session })
    return exported(0)
  },
  async 'the last step of a sign-in, with the code and with a wrong one'() {
    const { call, exported, service, ids } = sandbox()
    const email = demo.reader.email
    const { session_id: session } = (await call('GET', '/v4/session')).body
    await call('POST', '/v4/session/code', { session, body: { email } })
    const { messages } = await service.sandbox.outbox({ to: email })
    const code = messages[0]?.codes[0] ?? ''
    const wrong = code === '000000' ? '111111' : '000000'
    await call('POST', '/v4/session/verify', { session, body: { email, code: wrong } })
    await call('POST', '/v4/session/verify', { session, form: { email, code } })
    return exported(ids.length - 2)
  },
  async 'a retry under one key'() {
    const { call, token, exported } = sandbox()
    const sent = { token: await token('user:1'), body: {}, headers: { 'idempotency-key': 'once' } }
    await call('POST', `/v4/payment/${article}`, sent)
    await call('POST', `/v4/payment/${article}`, sent)
    return exported(0)
  },
  async 'a nonce that expires while the clock moves'() {
    const { call, token, exported } = sandbox()
    const { nonce, timestamp } = await pay(call, { token: await token('user:1') }, { hash: article })
    await call('POST', '/_sandbox/clock', { body: { advance: '20m' } })
    await call('POST', `/v4/payment/${article}/validate`, {
      token: await token('account:1'),
      body: { nonce, timestamp },
    })
    return exported(0)
  },
  async 'controls, and a fault that they arm'() {
    const { call, token, exported } = sandbox()
    const order = { hostname: demo.reader.hostname, amount: 3 }
    await call('POST', '/_sandbox/fund', { body: order })
    const fault = { match: { operation_id: 'createPayment' }, at: 'before', do: { status: 503 } }
    await call('POST', '/_sandbox/faults', { body: { ...fault, times: 1 } })
    await service503(call, await token('user:2'))
    await call('POST', '/_sandbox/sign-in', { body: { email: demo.reader.email } })
    await call('GET', '/_sandbox/ledger')
    return exported(0)
  },
  async 'what is kept beside the state, from where it was made on'() {
    const { call, exported } = sandbox()
    await call('GET', '/v4/session')
    await call('POST', '/_sandbox/snapshots', { body: { name: 'one' } })
    await call('POST', '/_sandbox/fund', { body: { hostname: demo.reader.hostname, amount: 3 } })
    await call('GET', '/_sandbox/snapshots/one/compare/current')
    await call('POST', '/_sandbox/snapshots', { body: { name: 'one' } })
    await call('DELETE', '/_sandbox/snapshots/one')
    await call('GET', '/_sandbox/snapshots/one')
    return exported(0)
  },
  async 'a purchase from an endpoint that nobody calls again'() {
    const answers = [{ forecast: 'Sun', id: 'f'.repeat(32) }, { forecast: 'Rain' }]
    const upstream = { fetch: async () => Response.json(answers.shift()) }
    const { call, token, exported } = sandbox({ upstream })
    const item = { name: 'Weather', description: 'The weather.', price: 0.5, service_method: 'GET' }
    const schema = { external_endpoint: 'https://weather.example.test/now', service_schema: { type: 'object' } }
    const { body } = await call('POST', '/v4/catalog/items', {
      token: await token('account:1'),
      body: { ...item, ...schema },
    })
    for (const principal of ['user:1', 'user:2'])
      await call('POST', `/v4/catalog/items/${body.id}/purchases`, {
        token: await token(principal),
        body: { arguments: {} },
      })
    await call('PUT', `/v4/catalog/items/${body.id}`, { token: await token('account:1'), body: { featured: true } })
    return exported(0)
  },
  async 'a checkout, by its link'() {
    const { call, token, exported } = sandbox({ upstream: { fetch: async () => Response.json({ found: [] }) } })
    const body = { catalog_item_id: 1, arguments: { words: 'bronze' }, success_url: 'https://shop.example.test/thanks' }
    const { token: link } = (await call('POST', '/v4/checkout', { token: await token('account:1'), body })).body
    await call('GET', `/v4/checkout/${link}`)
    await call('POST', `/v4/checkout/${link}/complete`, { token: await token('user:1'), body: {} })
    return exported(0)
  },
  async 'a webhook, and how far its deliveries are'() {
    const { call, token, exported } = sandbox({ upstream: { fetch: async () => new Response(null, { status: 204 }) } })
    const seller = await token('account:1')
    const order = { url: 'https://shop.example.test/hook', events: ['payment.*'] }
    const hook = (await call('POST', '/v4/webhooks', { token: seller, body: order })).body
    await pay(call, { token: await token('user:1') }, { hash: article })
    await call('GET', `/v4/webhooks/${hook.id}/deliveries`, { token: seller })
    await call('DELETE', `/v4/webhooks/${hook.id}`, { token: seller })
    return exported(0)
  },
  async 'a cart'() {
    const { call, token, exported } = sandbox({ upstream: { fetch: async () => Response.json({ found: [] }) } })
    const payer = await token('user:1')
    const cart = (await call('POST', '/v4/carts', { token: payer, body: {} })).body
    const item = { catalog_item_id: 1, arguments: { words: 'bronze' } }
    await call('POST', `/v4/carts/${cart.id}/items`, { token: payer, body: item })
    await call('GET', `/v4/carts/${cart.id}`, { token: payer })
    return exported(0)
  },
  async 'texts that are hard to quote'() {
    const { call, token, exported } = sandbox({}, { hasStrays: true })
    const data = { note: HARD, [HARD]: [HARD, -0, 1e21, 'ms_'], list: [] }
    const sent = { token: await token('account:1'), headers: { 'content-type': 'application/json' } }
    await call('POST', '/v4/events', { ...sent, body: { type: 'client.note', data } })
    await call('POST', '/v4/events', {
      ...sent,
      raw: `{"type":"client.a","data":{"__proto__":{"x":1},"a":1,"a":"\\u0041"}}`,
    })
    await call('POST', '/v4/events', { ...sent, raw: `{not json ${HARD}` })
    await call('POST', '/v4/events', {
      ...sent,
      raw: HARD,
      headers: { 'content-type': 'text/plain', 'x-note': `\`\${a}\`'\\` },
    })
    await call('GET', `/v4/%60$%7Bx%7D'"/%2e%2e//?q=\`\${z}'&note=${encodeURIComponent(HARD)}`)
    await call('GET', `//evil.example.test/v4/dq`)
    return exported(0)
  },
  async 'pages and paths that nobody knows'() {
    const { call, exported } = sandbox({}, { hasStrays: true })
    await call('GET', '/nowhere/12?x=1')
    await call('GET', '/', { headers: { accept: 'text/html' } })
    await call('HEAD', '/v4/dq')
    await call('OPTIONS', '/v4/dq')
    await call('DELETE', '/v4/dq')
    return exported(0)
  },
}

const service503 = (call: ReturnType<typeof sandbox>['call'], token: string) =>
  call('POST', `/v4/payment/${article}`, { token }).catch(() => undefined)

/** A test whose service answers otherwise, because its state is another. */
const failing: Record<string, readonly [of: string, was: RegExp, is: string]> = {
  'another price': ['a payment', /cost: '250'/, "cost: '260'"],
  'another secret': [
    'a token of a seeded account, and one that is refused',
    /secret_digest: '[^']+'/,
    `secret_digest: '${'0'.repeat(64)}'`,
  ],
}

const exportedFiles: Record<string, string> = {}
let outcomes = new Map<string, string>()

beforeAll(async () => {
  for (const [name, make] of Object.entries(passing)) exportedFiles[name] = await make()
  for (const [name, [of, was, is]] of Object.entries(failing))
    exportedFiles[name] = exportedFiles[of]?.replace(was, is) ?? ''
  outcomes = await runExported(exportedFiles)
})

test.each(Object.keys(passing))('an exported test passes: %s', (name) => {
  expect(outcomes.get(name)).toBe('passed')
})

test('what an earlier answer told is carried over by variable', () => {
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: the text of an export
  const carried: [name: string, code: string][] = [
    ['two payments, whose proofs cross', 'nonce: createPayment2Body.nonce, timestamp: createPayment2Body.timestamp'],
    [
      'everything from a new account on',
      'btoa(`${createAccountBody.secrets[1].client_id}:${createAccountBody.secrets[1].client',
    ],
    ['everything from a new account on', 'service.sandbox.actAs(`user:${createUserBody.id}`)'],
    ['everything from a new account on', '`/v4/payment/${createCommodityBody.hash}/validate`'],
    ['everything from a new account on', '`/v4/user/${createUserBody.id}`'],
    ['a token of a seeded account, and one that is refused', '`Bearer ${createAccountTokenBody.refresh_token}`'],
    ['a sign-in by code, and what the user does then', 'code: mails.messages[0]?.codes[0]'],
    [
      'a purchase from an endpoint that nobody calls again',
      '`/v4/catalog/items/${createCatalogItemBody.id}/purchases`',
    ],
    ['a checkout, by its link', 'CheckoutBody.token)}/complete'],
    ['a cart', '`/v4/carts/${createCartBody.id}/items`'],
  ]
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: the text of an export
  for (const [name, code] of carried) expect(exportedFiles[name]).toContain(code)
})

test.each(Object.keys(failing))('an exported test fails if the service answers otherwise: %s', (name) => {
  const [of = ''] = failing[name] ?? []
  expect(exportedFiles[name]).not.toBe(exportedFiles[of])
  expect(outcomes.get(name)).toMatch(/^failed\n(.|\n)*AssertionError/)
})

test('what cannot be repeated is refused, and the part that is the reason is named', async () => {
  const { service, call, token, refusal, ids } = sandbox()
  const refused = async (field: string, from = -1, entry = from) =>
    expect(await refusal(from)).toEqual(['not_replayable', field, entry])
  const [user, account] = [await token('user:1'), await token('account:1')]
  const event = (raw: string | Uint8Array<ArrayBuffer>) => call('POST', '/v4/events', { token: account, raw })
  await event(JSON.stringify({ type: 'client.note', data: { long: 'x'.repeat(17_000) } }))
  await refused('request.body')
  await event(new Uint8Array([...new TextEncoder().encode('{"type":"client.'), 0xff, 0xfe, 0x22, 0x7d]))
  await refused('request.body')
  expect(await service.sandbox.requests.export(ids.at(-1) ?? '', 'curl')).toContain('Left out. This entry')
  await event(JSON.stringify({ type: 'client.note', data: { secret: 'mine' } }))
  await refused('request.body.secret')
  const pair = await call('POST', '/v4/account/oauth/token', {
    headers: basic(demo.account.client_id, demo.account.client_secret),
  })
  await call('POST', '/v4/account/oauth/token', { token: pair.body.refresh_token })
  await refused('request.headers.authorization')
  expect(await refusal(-2)).toBe('nothing')
  const keyed = { token: user, body: {}, headers: { 'idempotency-key': 'one' } }
  await call('POST', `/v4/payment/${article}`, keyed)
  await call('POST', `/v4/payment/${article}`, keyed)
  await refused('request.headers.idempotency-key')
  await service.sandbox.faults.arm({ match: { operation_id: 'readTwin' }, at: 'before', do: { status: 500 } })
  await call('GET', `/v4/twin/${demo.payer.hostname}`, { token: user }).catch(() => {})
  const { requests } = await service.sandbox.requests.list({ limit: 1 })
  ids.push(requests[0]?.id ?? '')
  await refused('fault')
  await call('POST', '/_sandbox/rewind', { body: { to: ids.at(-1) } })
  await refused('operation_id')
  await call('POST', '/_sandbox/reset')
  await refused('state')
  await expect(service.sandbox.requests.export("req_'; rm -rf ~; echo `", 'vitest')).rejects.toMatchObject({
    code: 'not_found',
  })
  await service.close()
})
