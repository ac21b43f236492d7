import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { isObject } from '../../src/storage/unknown.js'
import { type Call, type CallOptions, caller } from '../support/api.js'
import { newItem } from '../support/scenes/catalog.js'
import { pay } from '../support/scenes/market.js'
import { newAgent } from '../support/scenes/oidc.js'
import { newPersona } from '../support/scenes/personas.js'
import { newWebhook } from '../support/scenes/webhooks.js'
import { basic, newCommodity, newReader, newSeller, newSession } from '../support/scenes/world.js'
import { countedStorage } from './counted-storage.js'

/** The kinds of callers that send requests. All of them are one person and their account. */
export const callerKinds = ['account', 'user', 'session', 'agent', 'embed', 'guest', 'client', 'none'] as const
export type CallerKind = (typeof callerKinds)[number]

/** A service with two persons who have one of everything. Requests come from the first, or from nobody. */
export async function newWorld() {
  const failures: unknown[] = []
  const storage = memoryStorage()
  const counted = countedStorage(storage)
  const service = createService({
    sandbox: true,
    storage: counted.storage,
    journal: false,
    limits: { closeMs: 50, upstreamMs: 1000 },
    log: { error: (message, cause) => void failures.push(cause ?? message) },
    upstream: {
      fetch: async () => new Response('{"sunny": true}', { headers: { 'content-type': 'application/json' } }),
    },
  })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const [first, second] = [await newPerson(call, 'ada'), await newPerson(call, 'bertha')]
  const callers: Record<CallerKind, CallOptions> = {
    account: { token: first.seller.token },
    user: { token: first.user.token },
    session: { session: first.session },
    agent: { token: first.agent },
    embed: {},
    guest: { session: (await call('GET', '/v4/session')).body.session_id },
    client: { headers: basic(first.seller.clientId, first.seller.clientSecret) },
    none: {},
  }
  const snapshot = (await call('GET', '/_sandbox/snapshot')).text
  const known = new Map<string, unknown[]>()
  // Ids of others come last, so that a request is mostly about things of the caller.
  for (const { things } of [first, second]) for (const thing of things) learn(thing, known)
  known.set('public_secret', [first.seller.publicSecret, second.seller.publicSecret])
  known.set('email', [first.user.email, 'stranger@example.test'])
  return {
    ...{ service, call, failures, callers, known, counted },
    /** What nobody but the second person, or their account, may read. */
    secrets: second.secrets,
    /** Makes everything as it was in the beginning. */
    async reset() {
      const { status } = await call('PUT', '/_sandbox/snapshot', {
        raw: snapshot,
        headers: { 'content-type': 'application/json' },
      })
      if (status >= 300) throw new Error(`the world could not begin anew: ${status}`)
      failures.length = 0
      counted.restart()
    },
  }
}

export type World = Awaited<ReturnType<typeof newWorld>>

/** A person with a wallet, their account, and things that operations can name. */
async function newPerson(call: Call, name: string) {
  const email = `${name}@private.example.test`
  const seller = await newSeller(call)
  const user = await newReader(call, seller, { balance: 50, email })
  const session = await newSession(call, email)
  const agent = (await newAgent(call, { email })).accessToken
  const commodity = await newCommodity(call, seller)
  const item = await newItem(call, seller)
  const payment = await pay(call, user, commodity)
  const persona = await newPersona(call, { token: user.token })
  const cart = (await call('POST', '/v4/carts', { token: user.token })).body
  const webhook = await newWebhook(call, seller)
  const order = { catalog_item_id: item.id, arguments: { city: 'Oslo' } }
  const checkout = (await call('POST', '/v4/checkout', { token: user.token, body: order })).body
  const approval = (await call('POST', '/v4/agent/approvals', { token: agent, body: { kind: 'purchase', ...order } }))
    .body
  const transfer = { address: `friend-of-${name}@private.example.test`, amount: 0.5 }
  const sent = (await call('POST', '/v4/transfer', { token: user.token, body: transfer })).body
  await call('POST', `/_sandbox/devices/${user.id}`, { body: { mode: 'reject' } })
  const event = { type: 'client.note', data: { note: `a note of ${name}` } }
  const note = (await call('POST', '/v4/events', { token: user.token, body: event })).body
  const { twins } = (await call('GET', '/v4/twins', { token: user.token })).body
  const wallet = { ...twins[0], twin_id: twins[0].id, user_id: user.id, payment_method_id: 'pm_card_visa' }
  return {
    ...{ seller, user, session, agent },
    things: [wallet, commodity, item, order, payment, persona, cart, webhook, checkout, approval, sent, note],
    secrets: [
      ...[email, transfer.address, event.data.note, session, agent, seller.token, seller.clientSecret],
      ...[user.token, user.clientSecret, webhook.secret],
    ].filter((secret) => typeof secret === 'string' && secret !== ''),
  }
}

/** Remembers the values of fields by their names. */
function learn(value: unknown, known: Map<string, unknown[]>, name = ''): void {
  if (Array.isArray(value)) for (const part of value.slice(0, 3)) learn(part, known, name)
  else if (isObject(value)) for (const [inner, part] of Object.entries(value)) learn(part, known, inner)
  else if (value !== null && name !== 'email') known.set(name, [...(known.get(name) ?? []), value])
}
