import { Problem, problem, problemSentence } from '../../base/problem.js'
import type { Sums } from '../../payments/payments/payer.js'
import type { Reader } from '../../storage/storage.js'
import { type Quote, quoteItem } from '../purchases/purchase.js'
import { type CartLineRow, type CartPlace, type CartRow, linesOf } from './cart.js'

/** A line with its current price. */
export interface QuotedLine {
  readonly row: CartLineRow
  readonly quote: Quote
}

/** Quotes all lines. Throws `cart_empty`, and what `quoteItem` throws with the line added. */
export async function quoteLines(tx: Reader, cart: CartRow, { within }: CartPlace): Promise<QuotedLine[]> {
  const lines = []
  for (const row of await linesOf(tx, cart)) {
    const { catalog_item_id: itemId, arguments: args } = row
    lines.push({ row, quote: await withLine(row, quoteItem(tx, { itemId, args, within })) })
  }
  if (lines.length === 0) throw problem('cart_empty')
  return lines
}

/** Adds the number and name of the line to a problem. */
export async function withLine<T>({ line, name }: CartLineRow, step: Promise<T>): Promise<T> {
  try {
    return await step
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const { code, fields, message } = cause
    const why = message.slice(problemSentence(code).length).trim()
    const detail = `${why} It is line ${line}, "${name}".`.trim()
    throw problem(code, { detail, fields: { ...fields, line }, cause })
  }
}

export function sumsOf(lines: readonly QuotedLine[]): Sums {
  const sums = new Map<string, bigint>()
  for (const { row, quote } of lines) {
    const dq = quote.quantity.id
    sums.set(dq, (sums.get(dq) ?? 0n) + quote.amount * BigInt(row.quantity))
  }
  return sums
}
