import type { Entry } from '../../src/sandbox/onion/entry.js'
import { jsonIn } from './json.js'
import { money, quantities } from './state.js'

/** Calls that pay for themselves, by x402 or MPP. */

const SOLD = new Set<string | null>(['callCatalogItem', 'callCatalogItemByGet', 'callPaywall'])

/** Whether an answer only says what a call costs, to whoever has not paid yet. */
export const isOffer = ({ code, response }: Entry): boolean =>
  code === 'payment_required' && jsonIn(response.body).reason === undefined

/** What a call that pays for itself was asked or paid, in a few words. Undefined for any other. `prices`: by path, of the offers before it. */
export function saleText(entry: Entry, prices: Map<string, string>): string | undefined {
  const { operation_id, path, status, code, response } = entry
  if (!SOLD.has(operation_id)) return undefined
  const what = whatOf(entry)
  if (code === 'payment_required') {
    const price = priceIn(response.headers['payment-required'])
    if (price !== undefined) prices.set(path, price)
    const { reason } = jsonIn(response.body)
    return reason === undefined ? `asked ${price ?? 'a price'} for ${what}` : `tried to pay for ${what}: ${reason}`
  }
  const dialect = dialectOf(response.headers)
  if (status === null || dialect === undefined) return operation_id === 'callPaywall' ? undefined : `called ${what}`
  return ['paid', prices.get(path), 'for', what, 'by', dialect].filter(Boolean).join(' ')
}

/** By the receipt in an answer. */
function dialectOf(headers: Entry['response']['headers']): string | undefined {
  if ('payment-receipt' in headers) return 'MPP'
  return 'payment-response' in headers || 'x-payment-response' in headers ? 'x402' : undefined
}

/** The price in the header of an offer: `0.25 USDC`. */
function priceIn(header: string | undefined): string | undefined {
  const [way] = jsonIn(headerText(header)).accepts ?? []
  if (way === undefined) return undefined
  const known = [...quantities.value.values()]
  // A token's address is made of the hash, but that of USDC is the network's own.
  const quantity =
    known.find(({ dq }) => `0x${dq.slice(2, 42)}` === String(way.asset).toLowerCase()) ??
    known.find(({ shortcode }) => shortcode === 'USDC')
  return quantity && money(Number(way.amount) / 10 ** quantity.decimals, quantity.dq)
}

function whatOf({ path, request }: Entry): string {
  const [, item] = /\/items\/(\d+)\/call/.exec(path) ?? []
  if (item !== undefined) return `item ${item}`
  const { serviceUrl, destination } = jsonIn(request.body)
  if (typeof serviceUrl === 'string' && URL.canParse(serviceUrl)) return new URL(serviceUrl).host
  return typeof destination === 'string' ? destination : 'the paywall'
}

function headerText(header: string | undefined): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(header ?? ''), (each) => each.charCodeAt(0)))
  } catch {
    return ''
  }
}
