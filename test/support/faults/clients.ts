import { setTimeout as pause } from 'node:timers/promises'
import { caller } from '../api.js'
import { newCommodity, newPayer, newSeller } from '../scenes/world.js'

export const COST = 0.25
const PAYERS = 16
const FUNDS = 1_000_000
const AGAIN_MS = 50

/** What clients pay for, and with what. */
export interface Market {
  readonly hashes: readonly string[]
  readonly tokens: readonly string[]
}

/** Two sellers, and payers whose money lasts. */
export async function newMarket(url: string): Promise<Market> {
  const call = caller({ url, fetch })
  const sellers = [await newSeller(call), await newSeller(call)] as const
  const hashes: string[] = []
  for (const seller of sellers) hashes.push((await newCommodity(call, seller, { cost: COST })).hash)
  const tokens: string[] = []
  for (let n = 0; n < PAYERS; n++) {
    const email = `payer-${n}@example.test`
    tokens.push((await newPayer(call, sellers[0], { email, balance: FUNDS })).token)
  }
  return { hashes, tokens }
}

/** A payment that a client wants to happen once. */
interface Order {
  readonly key: string
  readonly token: string
  readonly hash: string
}

/** `lost`: it is unknown whether it happened. */
type Outcome = { readonly id: number; readonly text: string } | 'refused' | 'lost'

/** Clients that pay at several processes. Each repeats a call, at another process, until it knows how it ended. */
export class Clients {
  /** The payment of each order that was answered. */
  readonly paid = new Map<Order, { readonly id: number; readonly text: string }>()
  /** Orders of which an answer was lost. Each was settled by asking again. */
  readonly unknown = new Set<Order>()
  /** How many calls were refused because something was down, and repeated. */
  refused = 0
  readonly #urls: () => readonly string[]
  readonly #market: Market
  #ended = false

  constructor(urls: () => readonly string[], market: Market) {
    this.#urls = urls
    this.#market = market
  }

  /** Pays until `end`, from many sides at once. Resolves when every order is answered. */
  async run(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, client) => this.#runOne(client)))
  }

  end(): void {
    this.#ended = true
  }

  async #runOne(client: number): Promise<void> {
    const { hashes, tokens } = this.#market
    for (let n = 0; !this.#ended; n++) {
      const token = tokens[client % tokens.length] ?? ''
      await this.#settle({ key: `${client}-${n}`, token, hash: hashes[n % hashes.length] ?? '' }, client + n)
    }
  }

  async #settle(order: Order, first: number): Promise<void> {
    for (let attempt = first; ; attempt++) {
      const outcome = await this.#send(order, attempt)
      if (typeof outcome === 'object') {
        this.paid.set(order, outcome)
        return
      }
      if (outcome === 'lost') this.unknown.add(order)
      else this.refused++
      await pause(AGAIN_MS)
    }
  }

  async #send({ key, token, hash }: Order, attempt: number): Promise<Outcome> {
    const urls = this.#urls()
    let status: number
    let text: string
    try {
      const response = await fetch(`${urls[attempt % urls.length]}/v4/payment/${hash}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'idempotency-key': key },
      })
      status = response.status
      text = await response.text()
      // A killed process frees its port, which a test beside this one may take.
      if (!response.headers.has('x-request-id')) return 'refused'
    } catch (error) {
      return isRefusedConnection(error) ? 'refused' : 'lost'
    }
    const body = JSON.parse(text)
    if (status === 202) return { id: body.id, text }
    if (status !== 503) throw new Error(`order ${key} was answered ${status}: ${text}`)
    return body.code === 'outcome_unknown' ? 'lost' : 'refused'
  }

  /** Repeats orders, and returns those whose second answer is another one. */
  async askAgain(orders: Iterable<Order>): Promise<readonly string[]> {
    const differing: string[] = []
    let attempt = 0
    for (const order of orders) {
      const again = await this.#send(order, attempt++)
      const { text } = this.paid.get(order) ?? {}
      if (typeof again !== 'object' || again.text !== text)
        differing.push(`${order.key}: ${text} and ${JSON.stringify(again)}`)
    }
    return differing
  }

  /** Every order that was ever unknown, and some others. */
  sample(): readonly Order[] {
    const step = Math.max(1, Math.floor(this.paid.size / 200))
    return [...this.unknown, ...[...this.paid.keys()].filter((_, at) => at % step === 0)]
  }
}

/** Nobody listens there now, so the call reached nobody. */
const isRefusedConnection = (error: unknown): boolean =>
  error instanceof TypeError && (error.cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED'
