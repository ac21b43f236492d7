import { memoryStorage } from '../../../../adapters/storage/memory.js'
import { systemAlarm } from '../../../../src/base/ports.js'
import { testProcessor } from '../../../../src/money/cards/test-values.js'
import type { State, Storage } from '../../../../src/storage/storage.js'
import type { Answer, Call, CallOptions } from '../../../support/api.js'
import { settledState } from '../../../support/contract/settled.js'
import { anotherAgent } from '../../../support/scenes/approvals.js'
import { newItem } from '../../../support/scenes/catalog.js'
import { explainedService, type MendOptions, type ServiceOptions } from '../../../support/scenes/explained.js'
import { fund, stopClock } from '../../../support/scenes/market.js'
import { newCommodity, newPayer, newReader, newSeller, type Payer, type Seller } from '../../../support/scenes/world.js'

/** A request that was sent, and its answer. */
export interface Sent {
  readonly answer: Answer
  readonly sent: CallOptions
}

/** A refusal that a scene provoked, and what its explanation must say. */
export interface Provoked extends MendOptions {
  readonly request: Promise<Sent>
  /** What decided, as data: numbers, rows, who called. */
  readonly facts: object
  /** What the sentences must name. */
  readonly says: readonly string[]
  /** `none` if no call makes the request succeed. Otherwise the fix must, when it is sent. */
  readonly fix?: 'none'
  /** What happens before the fix is sent. */
  readonly meanwhile?: () => unknown
}

/** How one error code comes about. */
export interface Scene {
  readonly options?: ServiceOptions
  /** Whether nobody and nothing is there before. */
  readonly isEmpty?: true
  provoke(shop: Shop): Promise<Provoked> | Provoked
}

/** The scenes of some codes. */
export type Scenes = Readonly<Record<string, Scene>>

type People = Awaited<ReturnType<typeof newPeople>>

/** What most scenes begin with, made once: later services begin with its rows. */
let usual: { readonly people: People; readonly state: State; readonly secrets: readonly string[] } | undefined

/** A seller with an article and an item, and a reader who holds 10. The clock stands still. */
export async function newShop({ options = {}, isEmpty }: Pick<Scene, 'options' | 'isEmpty'> = {}) {
  const upstream = { fetch: async (): Promise<Response> => new Response('{"story":"The whole story."}') }
  const processor = testProcessor({ alarm: systemAlarm })
  const cards = { charge: processor.charge }
  const disk = newDisk()
  const isUsual = !isEmpty && Object.keys(options).length === 0
  if (isUsual && usual) await disk.storage.import(usual.state)
  const running = explainedService({
    storage: disk.storage,
    cards: { ...processor, charge: (order) => cards.charge(order) },
    upstream: { fetch: () => upstream.fetch() },
    log: { error() {} },
    ...options,
    limits: { closeMs: 50, ...options.limits },
  })
  const { call, known } = running
  const at = await stopClock(call)
  const know = (kind: 'account' | 'user', { id, token, clientId, clientSecret }: Seller | Payer) =>
    known.set(`${kind}:${id}`, { token, client: [clientId, clientSecret] })
  const ask = async (method: string, path: string, sent: CallOptions = {}): Promise<Sent> => ({
    answer: await call(method, path, sent),
    sent,
  })
  /** A request whose answer the route table does not describe, from another machine or through a proxy. */
  async function askAside(
    method: string,
    path: string,
    { token, session, headers = {}, body }: CallOptions,
    { url = running.service.baseUrl, ...source }: { url?: string; peerAddress?: string } = {},
  ): Promise<Sent> {
    const sent = {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(session && { 'x-session-id': session }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    }
    const request = new Request(url + path, {
      method,
      headers: sent,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = await running.service.respond(request, source)
    const text = await answer.text()
    return {
      answer: { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) },
      sent: { ...(token && { token }), ...(session && { session }), ...(body !== undefined && { body }) },
    }
  }
  const made = isUsual ? usual : undefined
  const people = isEmpty ? ({} as People) : made ? structuredClone(made.people) : await newPeople(call)
  for (const secret of made?.secrets ?? []) running.secrets.add(secret)
  if (isUsual)
    usual ??= { people, state: await settledState(running.service.sandbox.snapshot), secrets: [...running.secrets] }
  if (!isEmpty) {
    know('account', people.seller)
    know('user', people.reader)
  }
  return { ...running, ...people, at, upstream, cards, disk, ask, askAside, know }
}

async function newPeople(call: Call) {
  const seller = await newSeller(call)
  const article = await newCommodity(call, seller, { cost: 0.25 })
  const item = await newItem(call, seller)
  const reader = await newReader(call, seller, { balance: 10, email: 'reader@example.test' })
  return { seller, article, item, reader, dq: article.dq }
}

/** A storage in memory, whose writes fail when a scene says so. */
function newDisk() {
  const inner = memoryStorage()
  const writes = { land: <T>(write: () => Promise<T>): Promise<T> => write() }
  const storage: Storage = { ...inner, write: (body) => writes.land(() => inner.write(body)) }
  /** Every write fails, until the returned function is called. */
  const fails = (error = new Error('this disk fails')) => {
    const { land } = writes
    writes.land = () => Promise.reject(error)
    return () => {
      writes.land = land
    }
  }
  return { storage, writes, fails }
}

export type Shop = Awaited<ReturnType<typeof newShop>>

/** Another seller, whose calls can be fixed too. */
export async function anotherSeller({ call, know }: Shop): Promise<Seller> {
  const seller = await newSeller(call)
  know('account', seller)
  return seller
}

/** Another user, whose calls can be fixed too. */
export async function anotherPayer({ call, know, seller }: Shop, balance = 0): Promise<Payer> {
  const payer = await newPayer(call, seller, { balance })
  know('user', payer)
  return payer
}

/** The reader's agent, whose twin holds 10. */
export async function readersAgent({ call, known, reader, dq }: Shop): Promise<{ readonly token: string }> {
  const agent = await anotherAgent(call, reader)
  const { twins } = (await call('GET', '/v4/twins', { token: reader.token })).body
  for (const { hostname } of twins) await fund(call, hostname, 10, dq)
  known.set('agent:1', agent)
  return agent
}

/** The last mail to an address. */
export const codeIn = async ({ call }: Pick<Shop, 'call'>, email: string): Promise<string> =>
  (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&kind=mail&limit=1`)).body.messages[0].codes[0]

/** A promise that the scene settles. */
export function gate<T>(): { readonly opened: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => {}
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open: (value) => open(value) }
}
