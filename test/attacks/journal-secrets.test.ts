import { expect, onTestFinished, test } from 'vitest'
import { visibleFailure } from '../../src/base/text/visible.js'
import { createService } from '../../src/index.js'
import type { Entry } from '../../src/sandbox/onion/entry.js'
import { caller } from '../support/api.js'
import { takeTour, type WatchOptions } from '../support/examples/tour.js'
import { howMuch } from '../support/how-much.js'
import { newItem, purchase, putParameters } from '../support/scenes/catalog.js'
import { newPayer, newSeller } from '../support/scenes/world.js'

/** Someone who is shown a journal or an export of it: a bug report, a log, a coding agent. */

test('the journal shows no secret value in the address of an upstream call', async () => {
  const service = createService({
    sandbox: true,
    upstream: { fetch: async () => Response.json({ ok: 1 }) },
  })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 5 })
  const item = await newItem(call, seller, {
    external_endpoint: 'https://api.example.test/w/{secret.path}/{input.city}?key={secret.key}',
  })
  const secret = 'sEcReT/ü 42'
  await putParameters(call, seller, item, [
    { kind: 'url', name: 'path', value: secret, sensitive: true },
    { kind: 'url', name: 'key', value: secret, sensitive: true },
  ])
  expect((await purchase(call, payer, item, { arguments: { city: 'Oslo' } })).status).toBe(201)
  const { text } = await call('GET', '/_sandbox/requests?limit=1000')
  expect(text).not.toContain('sEcReT')
  expect(text).toContain('GET https://api.example.test/w/{secret.path}/Oslo"')
})

test('the journal hides what was sent in a form that no operation takes, and secrets of other services', async () => {
  const codes = ['a', 'hIdDeN5']
  const service = createService({
    sandbox: true,
    upstream: { fetch: async () => Response.json({ codes, zone: 'kept' }) },
  })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 5 })
  for (const url of ['https://ada:hIdDeN1@hooks.example.test/', 'ftp://hIdDeN2@hooks.example.test'])
    await call('POST', '/v4/webhooks', { token: seller.token, body: { url, events: ['*'] } })
  const escaped = '{"url":"https:\\/\\/ada:hIdDeN3@hooks.example.test","events":["*"]}'
  await call('POST', '/v4/webhooks', {
    token: seller.token,
    raw: escaped,
    headers: { 'content-type': 'application/json' },
  })
  const form = new FormData()
  form.set('email', 'ada@example.test')
  form.set('code', 'hIdDeN4')
  await service.fetch('/v4/session/verify', {
    method: 'POST',
    body: form,
    headers: { 'x-forwarded-authorization': 'Bearer hIdDeN6' },
  })
  const item = await newItem(call, seller)
  expect((await purchase(call, payer, item, { arguments: { city: 'Oslo' } })).status).toBe(201)
  const { text } = await call('GET', '/_sandbox/requests?limit=100')
  expect(text.match(/hIdDeN\d/g) ?? []).toEqual([])
  for (const kept of ['hooks.example.test', 'name=', 'kept']) expect(text).toContain(kept)
})

/** Names of fields and headers whose values are secrets. */
const SECRETS =
  /^(access_token|refresh_token|id_token|id_token_hint|registration_access_token|client_secret|session_id|x-session-id|nonce|code|token|fcmToken|x-device-token|secret|secrets|agent_twin_key|encryption_key|codes|control_token|persona_delegate|instances|idempotency-key|private_key|signature)$/
/** Where a value goes, in an example. */
const PLACEHOLDER = /^\{\w+\}$/
/** Random values that are no secrets, by what stands before them. */
const PUBLIC =
  /(?:mid_|mp_|apr_|msg_|fork_|topup_|checkout_|invoice_|card_|refund_|charge_|saved_|req_|[0-9a-f]{16}:|jti\\*":\\*")$/

class Secrets {
  readonly given = new Set<string>()
  readonly drawn = new Set<string>()
  /** Paths with a token in them. */
  readonly links = new Set<string>()

  draw(bytes: Uint8Array): void {
    if (bytes.length < 16) return
    this.drawn.add(Buffer.from(bytes).toString('hex'))
    this.drawn.add(Buffer.from(bytes).toString('base64url'))
  }

  take(name: string, value: unknown): void {
    if (Array.isArray(value)) for (const each of value) this.take(name, each)
    else if (typeof value === 'object' && value !== null)
      for (const [field, each] of Object.entries(value)) this.take(field, each)
    else if (typeof value === 'string') {
      for (const [link] of value.matchAll(/\/[^\s"?]*\/(?:checkout|transfers|account-choice|interaction)\/[\w-]{20,}/g))
        this.links.add(new URL(link, 'http://service.example.test').pathname)
      for (const [link] of value.matchAll(/\/v4\/[\w/-]+\?token=[\w-]{20,}/g)) this.links.add(link)
      if (
        SECRETS.test(name) &&
        // A payer draws it, and everybody sees it on a chain.
        !(name === 'nonce' && /^0x[0-9a-f]{64}$/.test(value)) &&
        (name !== 'code' || !/^[a-z_]+$/.test(value)) &&
        // Of a signed transfer: without its signature, it gives nobody a right.
        (name !== 'signature' || value.startsWith('0x')) &&
        (name !== 'nonce' || !/^0x[0-9a-f]{64}$/.test(value)) &&
        value.length >= 6 &&
        !PLACEHOLDER.test(value)
      )
        this.given.add(value)
    }
  }

  /** The hash of a delegate stands beside its persona, and alone in lists by persona. */
  takeDelegates(value: unknown): void {
    if (typeof value !== 'object' || value === null) return
    if ('hash' in value && 'persona' in value && 'issue' in value) this.given.add(String(value.hash))
    for (const [name, each] of Object.entries(value))
      if (/^41[0-9a-f]{64}$/.test(name) && Array.isArray(each)) for (const hash of each) this.given.add(hash)
      else this.takeDelegates(each)
  }

  async takeFrom(message: Request | Response): Promise<void> {
    for (const [name, value] of message.headers) {
      this.take(name, value)
      const [, basic] = /^Basic (.*)/.exec(value) ?? []
      if (name === 'authorization') this.given.add(basic ?? value.replace(/^Bearer /, ''))
      if (basic !== undefined) this.given.add(atob(basic).split(':')[1] ?? basic)
    }
    const type = message.headers.get('content-type') ?? ''
    if (type.includes('event-stream') || !/json|form/.test(type)) return
    const text = await message.clone().text()
    if (type.includes('form')) for (const [name, value] of new URLSearchParams(text)) this.take(name, value)
    else if (text !== '') {
      this.take('', JSON.parse(text))
      this.takeDelegates(JSON.parse(text))
    }
  }

  /** Which of them a text holds, with what stands around. */
  in(text: string): string[] {
    const words = new Set([...this.given].map(longestWord))
    const lengths = new Set([...this.drawn].map(({ length }) => length))
    const found: string[] = []
    const isDrawn = (at: number, length: number) =>
      this.drawn.has(text.slice(at, at + length)) && !PUBLIC.test(text.slice(Math.max(0, at - 17), at))
    for (const { 0: word, index } of text.matchAll(/[\w-]{6,}/g)) {
      const isFound = (length: number) =>
        Array.from({ length: Math.max(0, word.length - length + 1) }).some((_, place) => isDrawn(index + place, length))
      if (words.has(word) || [...lengths].some(isFound)) found.push(text.slice(Math.max(0, index - 40), index + 60))
    }
    return found
  }
}

const longestWord = (text: string): string =>
  [...text.matchAll(/[\w-]+/g)].map(([word]) => word).sort((one, other) => other.length - one.length)[0] ?? text

test('nothing that the service issued or took as a secret is shown by the journal', { timeout: 300_000 }, async () => {
  const secrets = new Secrets()
  const logged: string[] = []
  const spans: string[] = []
  const note = (...seen: unknown[]) => void spans.push(JSON.stringify(seen))
  const span = () => ({ traceparent: '', rename: note, set: note, run: <T>(work: () => T) => work(), end: note })
  const options: WatchOptions = {
    onBytes: (bytes) => secrets.draw(bytes),
    log: { error: (message, cause) => void logged.push(`${message} ${visibleFailure(cause)}`) },
    tracer: {
      start: (begun) => {
        note(begun.name, begun.attributes)
        return span()
      },
    },
  }
  const shown = new Map<string, string>()
  await takeTour(async (request, fetch) => {
    const { pathname, origin } = new URL(request.url)
    if (pathname === '/_sandbox/reset') await look(origin, fetch, { secrets, shown })
    await secrets.takeFrom(request)
    const response = await fetch(request)
    await secrets.takeFrom(response)
    return response
  }, options)
  shown.set('logs', logged.join('\n'))
  shown.set('spans', spans.join('\n'))
  expect(secrets.given.size).toBeGreaterThan(60)
  expect(secrets.drawn.size).toBeGreaterThan(200)
  expect(secrets.links.size).toBeGreaterThan(6)
  expect(shown.size).toBeGreaterThan(100)
  const leaks = [...shown].flatMap(([what, text]) => secrets.in(text).map((leak) => `${what}: ${leak}`))
  expect([...new Set(leaks)].slice(0, 20)).toEqual([])
})

/** Sends each link where it does not belong, and then reads everything that shows the journal. */
async function look(
  base: string,
  fetch: (request: Request) => Promise<Response>,
  { secrets, shown }: { readonly secrets: Secrets; readonly shown: Map<string, string> },
): Promise<void> {
  const ask = async (path: string, init: RequestInit = {}) => (await fetch(new Request(base + path, init))).text()
  for (const link of secrets.links) {
    const origin = 'https://other.example.test'
    await ask(link, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'GET' } })
    for (const method of howMuch(['PUT'], ['DELETE', 'PUT', 'PATCH'])) await ask(link, { method })
    const url = `${base}${link}`
    const headers = {
      referer: url,
      'x-original-url': url,
      'content-type': 'application/json',
      'x-api-token': url.slice(-32),
    }
    await ask(`/v4/nowhere?next=${encodeURIComponent(url)}`, { headers })
    await ask(`/v4/nowhere?next=${encodeURIComponent(encodeURIComponent(url))}`, { headers })
    await ask('/v4/account', {
      method: 'PUT',
      headers,
      body: JSON.stringify({ name: url, text_of: JSON.stringify({ url }) }),
    })
  }
  const requests: Entry[] = []
  for (let next: string | null = ''; next !== null; ) {
    const page = JSON.parse(await ask(`/_sandbox/requests?limit=500${next === '' ? '' : `&after=${next}`}`))
    requests.push(...page.requests)
    next = page.next
  }
  shown.set('the list', JSON.stringify(requests))
  const [first, last] = [requests.at(-1)?.id, requests[0]?.id]
  for (const format of ['curl', 'http', 'har'])
    shown.set(`all as ${format}`, await ask(`/_sandbox/requests?as=${format}&from=${first}&to=${last}`))
  const use = (name: string, args: object) =>
    ask('/_sandbox/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    })
  shown.set('the tool last_error', await use('last_error', {}))
  shown.set('metrics', await ask('/metrics'))
  for (let at = 0; at < requests.length; at += 20)
    shown.set(
      `the tool search_requests after ${at}`,
      await use('search_requests', { after: requests[at]?.id, limit: 20 }),
    )
  // One of each operation, of those that refused if any did: an explanation says most about these.
  const operations = new Map(requests.map((entry) => [entry.operation_id, entry]))
  for (const entry of requests) if ((entry.status ?? 0) >= 400) operations.set(entry.operation_id, entry)
  for (const [operation, { id, request, path }] of operations) {
    const own = [await ask(`/_sandbox/requests/${id}`), await ask(`/_sandbox/requests/${id}/explain`)]
    const isHidden = `${path} ${request.body}`.includes('[redacted]')
    const others = isHidden ? [await use('explain', { id }), await ask(`/_sandbox/requests/${id}?as=vitest`)] : []
    shown.set(`${operation}`, [...own, ...others].join('\n'))
  }
}
