import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { responsibleFor } from '../../identity/users/responsible.js'
import { waitText } from '../../jobs/rates/daily-count.js'
import { type RateLimit, spendRate } from '../../jobs/rates/rate.js'
import type { Writer } from '../../storage/storage.js'
import type { Quote } from './purchase.js'

/** How many calls of endpoints one request causes. */
export const MOST_CALLS = 500

/** Calls that cost their payer nothing, to one host. A host pays for them, and need not belong to the seller. */
const freeCalls = ({ limits, sandbox }: Limited): RateLimit => ({
  ...{ kind: 'free_call', most: limits.freeCalls, windowMs: 15 * 60_000, code: 'too_many_calls' },
  detail: (seconds) =>
    `One payer makes at most ${limits.freeCalls} free calls at a host within 15 minutes. ${waitText(seconds, { option: 'limits.freeCalls', sandbox })}`,
})

type Limited = Pick<ServiceContext, 'limits' | 'sandbox'>

/** A purchase of an item, `calls` times. */
export interface CalledItem {
  readonly quote: Pick<Quote, 'item' | 'amount'>
  readonly calls: number
}

/** Counts the calls that a request will cause for their bearer, before it holds anything. Throws `too_many_calls`. */
export async function spendCalls(
  tx: Writer,
  called: readonly CalledItem[],
  { bearer, at }: { readonly bearer: Owner; readonly at: number },
  service: Limited,
): Promise<void> {
  const all = called.reduce((sum, { calls }) => sum + calls, 0)
  if (all > MOST_CALLS)
    throw problem('too_many_calls', {
      detail: `This makes ${all} calls, and one payment makes at most ${MOST_CALLS}. Pay for a part of it first.`,
      fields: { limit: MOST_CALLS },
    })
  const free = new Map<string, number>()
  for (const { quote, calls } of called) {
    if (quote.amount > 0n) continue
    const host = hostOf(quote.item.external_endpoint)
    free.set(host, (free.get(host) ?? 0) + calls)
  }
  if (free.size === 0) return
  const responsible = await responsibleFor(tx, bearer)
  const limit = freeCalls(service)
  for (const [host, times] of free) await spendRate(tx, limit, { subject: `${responsible}>${host}`, at, times })
}

/** A placeholder is never in the host. */
const hostOf = (endpoint: string): string => new URL(endpoint).host
