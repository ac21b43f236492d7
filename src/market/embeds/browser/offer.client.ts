import type { Refused, SeenQuote } from './service.client.js'

/** The commodity that a frame shows, and its price as the reader sees it. */

type Facts = Record<'hash' | 'dq' | 'price' | 'shortcode' | 'decimals', string> & { free?: string }

// The page sets them together, in payment.tsx and payback.tsx.
const factsOf = (page: ParentNode): Facts | undefined =>
  page.querySelector<HTMLElement>('main[data-hash]')?.dataset as Facts | undefined

/** Changes when `showPresentOffer` shows another price. */
export const shownOffer = factsOf(document) as Facts // This script is on no page without one.

export const shownPrice = (): string => `${shownOffer.price} ${shownOffer.shortcode}`

export const shownQuote = (): SeenQuote => ({ cost: Number(shownOffer.price), dq: shownOffer.dq })

const CHANGES = ['#open', 'header', '#pay-step [value=go]']

/** After a refusal as `price_changed`: shows what the service would show now. Gives whether it could be had. */
async function showPresentOffer(): Promise<boolean> {
  const answer = await fetch(location.href, { credentials: 'omit', cache: 'no-store' }).catch(() => undefined)
  const html = await answer?.text().catch(() => undefined)
  const page = new DOMParser().parseFromString(html ?? '', 'text/html')
  const present = factsOf(page)
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

/** Where the price has changed, shows the new one, and asks again by `ask`. */
export async function showChange({ code }: Refused, ask: () => void): Promise<void> {
  if (code !== 'price_changed') return
  isPresent = await showPresentOffer()
  ask()
}

/** What people are told of it; `next` says what to do. */
export const changeSentence = (next: string): string =>
  isPresent
    ? `The price has changed to ${shownPrice()}. ${next}`
    : 'The price has changed, and the new one could not be loaded. Try again in a moment.'
