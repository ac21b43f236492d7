import { expect } from 'vitest'
import type { Answer, Call } from '../api.js'
import type { Start } from '../contract/contract.js'
import { prepared } from '../contract/prepared.js'
import { stopClock } from './market.js'
import { again } from './transfers.js'
import { newSeller, type Seller } from './world.js'

/** Steps of an account that pays for the platform, through the public interface. */

export const VISA = 'pm_card_visa'
/** Can be put on file, and is declined when it is charged. */
export const FAILING = 'pm_card_chargeCustomerFail'

/** An account, with a stopped clock. */
export async function newSubscriber(start: Start, options?: Parameters<Start>[0]) {
  const { seller, ...running } = await subscriber(start, undefined, options)
  return { ...running, account: new Subscriber(running.call, seller) }
}

const subscriber = prepared(async (call) => {
  const at = await stopClock(call, Date.UTC(2031, 0, 31, 12))
  return { at, seller: await newSeller(call) }
})

/** What an account asks for, by a token that is renewed when its hour is over. */
export class Subscriber {
  constructor(
    readonly call: Call,
    public seller: Seller,
  ) {}

  async ask(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> {
    const ask = () =>
      this.call(method, `/v4/billing${path}`, { token: this.seller.token, headers, ...(body && { body }) })
    const answer = await ask()
    if (answer.status !== 401) return answer
    this.seller = await again(this.call, this.seller)
    return ask()
  }

  choose(plan: string, payment_method_id?: string): Promise<Answer> {
    return this.ask('PUT', '/plan', { plan, ...(payment_method_id !== undefined && { payment_method_id }) })
  }

  /** The answer to a change of plan that must succeed. */
  async chosen(plan: string, payment_method_id?: string): Promise<Answer['body']> {
    const { status, body } = await this.choose(plan, payment_method_id)
    expect({ status, body }).toMatchObject({ status: 200 })
    return body
  }

  async billing(): Promise<Answer['body']> {
    return (await this.ask('GET', '')).body
  }

  /** Oldest first. */
  async invoices(): Promise<Answer['body'][]> {
    return (await this.ask('GET', '/invoices?limit=100')).body.invoices.reverse()
  }

  pay(id: number, body?: object, headers?: Record<string, string>): Promise<Answer> {
    return this.ask('POST', `/invoices/${id}/pay`, body, headers)
  }

  /** The types of what its log says of billing, oldest first. */
  async events(): Promise<string[]> {
    await this.billing()
    const { body } = await this.call('GET', '/v4/events?limit=100', { token: this.seller.token })
    const types: string[] = body.events.map(({ type }: { type: string }) => type).reverse()
    return types.filter((type) => type.startsWith('billing.')).map((type) => type.slice('billing.'.length))
  }
}

/** Subjects of the mail to an address, oldest first. */
export async function mailedSubjects(call: Call, to: string): Promise<string[]> {
  const { body } = await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(to)}&kind=mail&limit=100`)
  return body.messages.map(({ subject }: { subject: string }) => subject).reverse()
}

/** How many cards were charged, or tried to be. */
export const chargesOf = async (call: Call): Promise<any[]> =>
  (await call('GET', '/_sandbox/outbox?kind=card&limit=100')).body.messages
