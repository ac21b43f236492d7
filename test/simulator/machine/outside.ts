import type {
  CardCharge,
  CardRefund,
  Cards,
  ChargeResult,
  Mail,
  Mailer,
  Push,
  PushMessage,
  RefundResult,
  Upstream,
  UpstreamRequest,
} from '../../../src/base/ports.js'
import { testProcessor } from '../../../src/money/cards/test-values.js'
import type { Sightings } from '../properties/sightings.js'
import type { Draws } from './draws.js'
import type { Timeline } from './timeline.js'
import type { Reach } from './traps.js'

/**
 * How the next call of a port goes. `refused`: nothing happens, and the caller learns so. `unanswered`: it happens, and
 * the answer is lost. `slow`: the answer takes minutes.
 */
export type PortFault = 'refused' | 'unanswered' | 'slow'
export type PortName = 'mail' | 'push' | 'cards' | 'upstream'

/** What a process does while it waits for the outside. */
export interface Visitor {
  isAlive(): boolean
  /** While it hangs. */
  awake(): Promise<void> | undefined
  reach: Reach
}

/** Everything beyond the service: the mail boxes of people, their phones, the card processor and the sites of others. */
export class Outside {
  readonly mails: Mail[] = []
  readonly pushes: PushMessage[] = []
  /** Each charge that was made, by its id. */
  readonly charges = new Map<string, { readonly charge: CardCharge; readonly result: ChargeResult }>()
  readonly refunds = new Map<string, { readonly refund: CardRefund; readonly result: RefundResult }>()
  readonly faults: Record<PortName, PortFault[]> = { mail: [], push: [], cards: [], upstream: [] }
  /** How many messages each receiver of webhooks got, by their ids. */
  readonly received = new Map<string, number>()
  readonly #processor: Cards
  #isHonest = false

  constructor(
    readonly timeline: Timeline,
    readonly draws: Draws,
    readonly sightings: Sightings,
  ) {
    this.#processor = testProcessor({ alarm: { set: (ms, ring) => timeline.after(ms, ring) } })
  }

  /** From now on nothing fails, and nobody lies. */
  clear(): void {
    this.#isHonest = true
    for (const faults of Object.values(this.faults)) faults.length = 0
  }

  ports(visitor: Visitor): { mailer: Mailer; push: Push; cards: Cards; upstream: Upstream } {
    return {
      mailer: {
        send: (mail) => this.#visit('mail', visitor, 'a mail is accepted', async () => void this.mails.push(mail)),
      },
      push: { send: (push) => this.#visit('push', visitor, undefined, async () => void this.pushes.push(push)) },
      cards: {
        testMethods: this.#processor.testMethods ?? [],
        save: (card) => this.#visit('cards', visitor, undefined, () => this.#processor.save(card)),
        charge: (charge) => this.#visit('cards', visitor, 'a card is charged', () => this.#charge(charge)),
        refund: (refund) => this.#visit('cards', visitor, 'a card is refunded', () => this.#refund(refund)),
      },
      upstream: {
        fetch: (request) => {
          const isHook = request.url.includes('/hook')
          const moment = isHook ? 'a webhook is received' : 'an endpoint has answered'
          return this.#visit('upstream', visitor, moment, async () =>
            isHook ? this.#receive(request) : this.#endpoint(request),
          )
        },
      },
    }
  }

  /** A call of a port: on its way, there, and on its way back. A dead process waits forever. */
  async #visit<T>(
    port: PortName,
    { isAlive, awake, reach }: Visitor,
    moment: Parameters<Reach>[0] | undefined,
    act: () => Promise<T>,
  ): Promise<T> {
    await awake()
    await this.timeline.wait(this.draws.between(1, 40))
    if (!isAlive()) return new Promise<never>(() => {})
    const fault = this.faults[port].shift()
    if (fault) this.sightings.see(`${port}: ${fault}`)
    if (fault === 'refused') throw new Error(`${port} is out of order`)
    const value = await act()
    if (moment && reach(moment)) return new Promise<never>(() => {})
    await this.timeline.wait(fault === 'slow' ? this.draws.between(10_000, 120_000) : this.draws.between(1, 40))
    await awake()
    if (!isAlive()) return new Promise<never>(() => {})
    if (fault === 'unanswered') throw new Error(`the answer of ${port} is lost`)
    return value
  }

  async #charge(charge: CardCharge): Promise<ChargeResult> {
    const known = this.charges.get(charge.id)
    if (known) {
      this.sightings.see('a card is asked again, and not charged twice')
      return known.result
    }
    const result = await this.#processor.charge(charge)
    if (result.status !== 'unavailable') this.charges.set(charge.id, { charge, result })
    return result
  }

  async #refund(refund: CardRefund): Promise<RefundResult> {
    const known = this.refunds.get(refund.id)
    if (known) return known.result
    const result: RefundResult = this.draws.oneIn(2)
      ? { status: 'refused', reason: 'too long ago' }
      : await this.#processor.refund(refund)
    this.refunds.set(refund.id, { refund, result })
    return result
  }

  /** A receiver of webhooks: some forget what they said, and some say what is not so. */
  #receive({ url, headers }: UpstreamRequest): Response {
    const id = `${url} ${headers['webhook-id']}`
    const times = (this.received.get(id) ?? 0) + 1
    this.received.set(id, times)
    if (times > 1) this.sightings.see('a webhook is received again')
    if (this.#isHonest) return new Response(null, { status: 204 })
    const lie = this.draws.below(8)
    if (lie === 0) this.sightings.see('a receiver of webhooks took a message and says that it failed')
    return new Response(null, { status: lie === 0 ? 500 : lie === 1 ? 302 : lie === 2 ? 429 : 204 })
  }

  #endpoint({ url }: UpstreamRequest): Response {
    const path = new URL(url).pathname
    if (path.endsWith('/broken')) return new Response('It broke.', { status: 500 })
    if (path.endsWith('/torn')) return new Response(tornBody())
    if (path.endsWith('/gone')) throw new Error('nobody answers')
    return Response.json({ forecast: 'Sun.' })
  }
}

/** A body that breaks off. */
const tornBody = (): ReadableStream<Uint8Array> => {
  let pieces = 0
  return new ReadableStream({
    pull(controller) {
      if (pieces++ === 0) controller.enqueue(new TextEncoder().encode('{"forecast":'))
      else controller.error(new Error('the connection broke'))
    },
  })
}
