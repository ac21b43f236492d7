import { smallestUnits } from './price.js'
import type { Refused, SeenQuote } from './service.client.js'

/** The commodity that a frame shows, and its price as the user sees it. */

type Facts = Record<'hash' | 'dq' | 'price' | 'shortcode' | 'decimals' | 'descriptor', string> & {
  free?: string
  balances?: string
}

// embeds.tsx always sets these together.
const offeredFacts = (page: ParentNode): Facts | undefined =>
  page.querySelector<HTMLElement>('main[data-hash]')?.dataset as Facts | undefined

/** Changes when `showPresentOffer` shows a new price. */
export const shownOffer = offeredFacts(document) as Facts // This script is on no page without one.

export const shownPrice = (): string => `${shownOffer.price} ${shownOffer.shortcode}`

/** The price in smallest units. */
export const shownPriceUnits = (): bigint =>
  smallestUnits(Number(shownOffer.price), { decimals: Number(shownOffer.decimals) })

export const shownQuote = (): SeenQuote => ({ cost: Number(shownOffer.price), dq: shownOffer.dq })

const CHANGES = ['#open', 'header', '#pay-step [value=go]']

/** Shows the current offer after a refusal with `price_changed`. Returns whether it could be loaded. */
async function showPresentOffer(): Promise<boolean> {
  const answer = await fetch(location.href, { credentials: 'omit', cache: 'no-store' }).catch(() => undefined)
  const html = await answer?.text().catch(() => undefined)
  const page = new DOMParser().parseFromString(html ?? '', 'text/html')
  const present = offeredFacts(page)
  if (!present) return false
  delete shownOffer.free
  Object.assign(shownOffer, present)
  document.title = page.title
  for (const selector of CHANGES) {
    const part = page.querySelector(selector)
    if (part) document.querySelector(selector)?.replaceChildren(...part.childNodes)
  }
  return true
}

let isPresent = true

/** Shows the new price if it has changed, and the step again with `ask`. */
export async function showChange({ code }: Refused, ask: () => void): Promise<void> {
  if (code !== 'price_changed') return
  isPresent = await showPresentOffer()
  ask()
}

/** Returns the sentence about a new price. `next` says what to do. */
export const changeSentence = (next: string): string =>
  isPresent
    ? `The price has changed to ${shownPrice()}. ${next}`
    : 'The price has changed, but the new one could not be loaded. Try again in a moment.'
