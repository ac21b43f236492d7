import { expect } from 'vitest'
import type { ProblemCode } from '../../../src/base/problem.js'
import type { Answer, Call } from '../api.js'
import type { Payer } from './world.js'

/** Steps that tests of value take, through the public interface. */

/** A well-formed hash that no digital quantity has. */
export const UNKNOWN_DQ = `41${'0'.repeat(64)}`
export const UNKNOWN_COMMODITY = '00000000-0000-4000-8000-000000000000'

export function expectProblem(answer: Answer, status: number, code: ProblemCode): void {
  expect({ status: answer.status, code: answer.body?.code }).toEqual({ status, code })
}

/** Stops the clock at a fixed moment. Call it first, because everything that was issued before has expired then. Returns Unix milliseconds. */
export async function stopClock(call: Call, at = Date.UTC(2031, 4, 1, 12)): Promise<number> {
  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  await setClock(call, at)
  return at
}

export const setClock = (call: Call, at: number): Promise<Answer> =>
  call('POST', '/_sandbox/clock', { body: { set: new Date(at).toISOString() } })

export const advance = (call: Call, duration: string): Promise<Answer> =>
  call('POST', '/_sandbox/clock', { body: { advance: duration } })

export const fund = (call: Call, hostname: string, amount: number, dq?: string): Promise<Answer> =>
  call('POST', '/_sandbox/fund', { body: { hostname, amount, ...(dq !== undefined && { dq }) } })

/** The answer to a payment that must succeed. */
export async function pay(call: Call, payer: Pick<Payer, 'token'>, { hash }: { hash: string }, body = {}) {
  const answer = await call('POST', `/v4/payment/${hash}`, { token: payer.token, body })
  expect(answer.status).toBe(202)
  return answer.body as { id: number; amount: number; nonce: string; timestamp: number; created_at: number }
}

/** Balances by digital quantity, as the twin's owner sees them. */
export const balancesOf = async (call: Call, token: string, hostname: string): Promise<Record<string, number>> =>
  (await call('GET', `/v4/twin/${hostname}`, { token })).body.balances

/** The ledger's own audit, which must find nothing. */
export async function expectSoundLedger(call: Call): Promise<Answer['body']> {
  const { body } = await call('GET', '/_sandbox/ledger')
  expect(body.broken).toBeNull()
  expect(body.ok).toBe(true)
  return body
}

/** Reads a list page by page, with pages of `limit`. */
export async function readPages(
  call: Call,
  path: string,
  { plural, token, limit }: { plural: string; token?: string; limit: number },
): Promise<any[][]> {
  const pages: any[][] = []
  let after: number | string | null = null
  do {
    const query: string = `limit=${limit}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`
    const answer = await call('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`, { ...(token && { token }) })
    expect(answer.status).toBe(200)
    pages.push(answer.body[plural])
    after = answer.body.next
  } while (after !== null)
  return pages
}
