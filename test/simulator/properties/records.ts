import { hold } from './broken.js'
import type { Follower } from './followers.js'

const DAY = 86_400_000

/** One request that may be sent several times, under one Idempotency-Key. */
export interface Asked {
  readonly key: string
  readonly what: string
  /** When it was sent first. A key is forgotten after a day. */
  readonly at: number
  /** The answer that it succeeded with, once it has, even if that got lost on its way. */
  answer?: string | undefined
  /** Whether some try of it got no answer, or one that leaves open what happened. */
  isUncertain: boolean
}

/** A price that someone saw and agreed to pay. */
export interface Quote {
  readonly payer: string
  /** As numbers of the digital quantity. */
  readonly price: number
  readonly asked: Asked
}

/** What the people of a simulation remember, to hold the service to it. */
export class Records {
  /** What was used, and by which request. */
  readonly #used = new Map<string, string>()
  readonly #secrets = new Map<string, { readonly owner: string; readonly what: string }>()
  /** Payments by their kind and id, with the quote of each. */
  readonly paid = new Map<number, Quote>()
  readonly asked: Asked[] = []
  /** Whether a machine has lost what its disk had claimed to keep. */
  hasForgotten = false
  /** Whether a fork has used the same card processor for a ledger of its own. */
  hasForks = false
  /** Those who follow the events of someone. */
  readonly followers: Follower[] = []
  /** The events that someone has read. */
  readonly seenEvents = new Map<string, { readonly newest: number; readonly ids: ReadonlySet<number> }>()

  /** A request is about to be sent for the first time. */
  ask(key: string, what: string, at: number): Asked {
    const asked: Asked = { key, what, at, isUncertain: false }
    this.asked.push(asked)
    return asked
  }

  /** A request has succeeded. It may have succeeded before, with the same answer. */
  succeeded(asked: Asked, answer: string, at: number): void {
    const isKnown = asked.answer !== undefined && at - asked.at < DAY
    hold(!isKnown || asked.answer === answer, 'One key has one answer', [asked, answer])
    asked.answer = answer
  }

  /** Something that works once has worked for a request. */
  use(what: string, by: string): void {
    const before = this.#used.get(what)
    hold(before === undefined || before === by, 'What works once worked twice', [what, before, by])
    this.#used.set(what, by)
  }

  pay(id: number, quote: Quote, amount: number): void {
    hold(amount <= quote.price, 'Nobody pays more than the price they saw', [quote, amount])
    const before = this.paid.get(id)
    hold(before === undefined || before.asked === quote.asked, 'Two requests have one payment', [before, quote])
    this.paid.set(id, quote)
  }

  keepSecret(value: string, owner: string, what: string): void {
    this.#secrets.set(value, { owner, what })
  }

  /** Nobody is shown a secret of someone else. */
  checkShown(to: string, text: string, where: string): void {
    for (const [value, { owner, what }] of this.#secrets)
      if (owner !== to) hold(!text.includes(value), 'A secret stays with its owner', [what, { owner, to, where }])
  }

  /** A machine has lost what its disk had claimed to keep, so nobody can hold it to what was before. */
  forget(): void {
    this.hasForgotten = true
    this.#used.clear()
    this.paid.clear()
    for (const asked of this.asked) asked.answer = undefined
    this.seenEvents.clear()
    this.followers.length = 0
  }
}
