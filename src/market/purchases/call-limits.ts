import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { responsibleFor } from '../../identity/users/responsible.js'
import { addDaily, type RateLimit, spendRate, waitOfDaily, waitText } from '../../jobs/rates/rate.js'
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

/** Calls that cost something, to one host in a day. What a seller is paid may come back to whoever pays. */
const MOST_PAID = 20_000

export interface CalledEndpoint {
  readonly endpoint: string
  /** What each call costs its payer, in smallest units. */
  readonly amount: bigint
  readonly calls: number
}

/** The call that delivers an item once. */
export const callOf = ({ item, amount }: Pick<Quote, 'item' | 'amount'>): CalledEndpoint => ({
  endpoint: item.external_endpoint,
  amount,
  calls: 1,
})

/** Counts the calls that a request will cause for their bearer, before it holds anything. Throws `too_many_calls`. */
export async function spendCalls(
  tx: Writer,
  called: readonly CalledEndpoint[],
  { bearer, at }: { readonly bearer: Owner; readonly at: number },
  service: Limited,
): Promise<void> {
  const all = called.reduce((sum, { calls }) => sum + calls, 0)
  if (all > MOST_CALLS)
    throw problem('too_many_calls', {
      detail: `This makes ${all} calls, and one payment makes at most ${MOST_CALLS}. Pay for a part of it first.`,
      fields: { limit: MOST_CALLS },
      facts: { most: MOST_CALLS },
    })
  const free = new Map<string, number>()
  const paid = new Map<string, number>()
  for (const { endpoint, amount, calls } of called) {
    const host = hostOf(endpoint)
    const counts = amount > 0n ? paid : free
    counts.set(host, (counts.get(host) ?? 0) + calls)
  }
  const responsible = await responsibleFor(tx, bearer)
  const limit = freeCalls(service)
  for (const [host, times] of free) await spendRate(tx, limit, { subject: `${responsible}>${host}`, at, times })
  for (const [host, times] of paid) await spendPaid(tx, { subject: `${responsible}>${host}`, at, times }, service)
}

interface PaidCalls {
  readonly subject: string
  readonly at: number
  readonly times: number
}

/** Counts calls that cost something. The last ones of a day may exceed the limit. */
async function spendPaid(tx: Writer, { times, ...counted }: PaidCalls, { sandbox }: Limited): Promise<void> {
  const limit = { kind: 'paid_calls', most: MOST_PAID, ...counted }
  if (await addDaily(tx, limit, times)) return
  const seconds = (await waitOfDaily(tx, limit)) ?? 1
  throw problem('too_many_calls', {
    detail: `One payer causes at most ${MOST_PAID} calls of one host a day. ${waitText(seconds, { sandbox })}`,
    fields: { limit: MOST_PAID },
    facts: { most: MOST_PAID },
    headers: { 'retry-after': String(seconds) },
  })
}

/** A placeholder is never in the host. */
const hostOf = (endpoint: string): string => new URL(endpoint).host
