import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService, type Service } from '../../../src/index.js'
import { basic } from '../../support/scenes/world.js'
import type { Who } from './model.js'

/** Users there are from the beginning, by email; strangers, who may join; the seller's account. */
export const USERS: readonly Who[] = ['ada@example.test', 'ben@example.test']
export const STRANGERS: readonly Who[] = ['cy', 'dee', 'eva', 'fay'].map((name) => `${name}+code123456@example.test`)
export const SHOP: Who = 'shop'
export const HASH = '00000000-0000-4000-8000-00000000f00d'
/** Of the commodity, in thousandths. */
export const COST = 250
/** What each of those who are there from the beginning holds, in thousandths. */
export const FUNDS = 20_000
export const BEGIN = Date.UTC(2031, 4, 30, 22)

export interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly by?: string
}

/** A service with people in it, and all that was asked of it. */
export class World {
  readonly service: Service
  readonly sent: Sent[] = []
  /** Client credentials by who has them. */
  readonly #clients = new Map<Who, readonly [id: string, secret: string]>()
  readonly hostnames = new Map<Who, string>()
  /** Of the service's invitations and delegates, in the model's order. */
  readonly invitations: number[] = []
  readonly delegates: { readonly persona: string; readonly hash: string }[] = []
  dq = ''
  publicSecret = ''

  private constructor() {
    this.service = createService({
      storage: memoryStorage({ rerun: true }),
      sandbox: true,
      upstream: {
        // The path says how it answers.
        async fetch({ url }) {
          const { pathname } = new URL(url)
          if (pathname === '/down') throw new TypeError('nobody there')
          return new Response('{}', {
            status: Number(pathname.slice(1)),
            headers: { 'content-type': 'application/json' },
          })
        },
      },
    })
  }

  static async begin(): Promise<World> {
    const world = new World()
    const { sandbox } = world.service
    await sandbox.setClock({ mode: 'manual' })
    await sandbox.setClock({ set: BEGIN })
    const seeded = await sandbox.seed({
      accounts: [{ name: 'Shop', hostname: 'shop.test', balance: FUNDS / 1000 }],
      users: USERS.map((email) => ({ email, hostname: email.replace('@', '.'), balance: FUNDS / 1000 })),
      commodities: [{ account: 'Shop', descriptor: 'NEWS.ARTICLE', cost: COST / 1000, hash: HASH }],
    })
    const [shop] = seeded.accounts
    world.publicSecret = shop?.public_secret ?? ''
    world.#clients.set(SHOP, [shop?.client_id ?? '', shop?.client_secret ?? ''])
    world.hostnames.set(SHOP, 'shop.test')
    for (const user of seeded.users) world.meet(user.email, user, user.twin.hostname)
    world.dq = seeded.commodities[0]?.dq ?? ''
    return world
  }

  meet(who: Who, client: { client_id: string; client_secret: string }, hostname: string): void {
    this.#clients.set(who, [client.client_id, client.client_secret])
    this.hostnames.set(who, hostname)
  }

  /** Asks the service for something; `by` someone's token, or with other headers. */
  async ask(
    method: string,
    path: string,
    { by, body, headers = {} }: { by?: Who; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<{ status: number; body: any }> {
    this.sent.push({ method, path, ...(body !== undefined && { body }), ...(by !== undefined && { by }) })
    return this.#fetch(method, path, {
      body,
      headers: { ...headers, ...(by !== undefined && { authorization: `Bearer ${await this.#token(by)}` }) },
    })
  }

  async #fetch(method: string, path: string, { body, headers }: { body?: unknown; headers: Record<string, string> }) {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const request = new Request(this.service.baseUrl + path, { method, headers: { ...type, ...headers }, ...sent })
    const response = await this.service.fetch(request)
    const text = await response.text()
    return { status: response.status, body: text ? JSON.parse(text) : undefined }
  }

  /** A token that is good at the time of the clock, wherever that was moved. */
  async #token(who: Who): Promise<string> {
    const [id, secret] = this.#clients.get(who) ?? ['', '']
    const { body } = await this.#fetch('POST', '/v4/account/oauth/token', { headers: basic(id, secret) })
    return body.access_token
  }

  /** Every balance of the first digital quantity by hostname, in thousandths, and what is held of it. */
  async balances(): Promise<Map<string, { amount: number; held: number }>> {
    const { rows } = await this.service.sandbox.snapshot()
    const twins = new Map((rows.twins ?? []).map((twin: any) => [twin.id, twin.hostname as string]))
    return new Map(
      (rows.balances ?? [])
        .filter((balance: any) => balance.dq === this.dq)
        .map((balance: any) => [
          twins.get(balance.twin_id) as string,
          { amount: Number(balance.amount), held: Number(balance.held) },
        ]),
    )
  }
}
