import { expect } from 'vitest'
import type { Answer, Call, CallOptions } from '../api.js'
import type { Start } from '../contract/contract.js'
import { prepared } from '../contract/prepared.js'
import { stopClock } from './market.js'
import { basic, newReader, newSeller, type Payer, type Seller } from './world.js'

/** Steps of sending value and of claiming it, through the public interface. */

export const DAY = 86_400_000
export const INVITED = 'ada@example.test'

/** A user with a balance of ten and an account, with a stopped clock. */
export const newSender = (start: Start, { balance = 10 }: { balance?: number } = {}) => sender(start, balance)

const sender = prepared(async (call, balance: number) => {
  const at = await stopClock(call)
  const seller = await newSeller(call)
  const payer = await newReader(call, seller, { balance, email: 'sender@example.test' })
  return { at, seller, payer }
})

export const send = (call: Call, caller: CallOptions, body: object): Promise<Answer> =>
  call('POST', '/v4/transfer', { ...caller, body })

/** The answer to an invitation that must succeed, and the link that was mailed. */
export async function inviteByMail(call: Call, sender: CallOptions, body: object = {}) {
  const answer = await send(call, sender, { address: INVITED, amount: 2.5, ...body })
  expect([answer.status, answer.body.status]).toEqual([201, 'invited'])
  return { ...(answer.body as { id: number; dq: string; expires_at: number }), path: await mailedPath(call) }
}

export async function lastMail(call: Call, to = INVITED): Promise<{ subject: string; text: string; links: string[] }> {
  return (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(to)}&kind=mail&limit=1`)).body.messages[0]
}

/** The address in the last invitation, below the service's own. */
export async function mailedPath(call: Call): Promise<string> {
  const [link = ''] = (await lastMail(call)).links
  return link.slice(link.indexOf('/transfers/'))
}

/** The same person once their token has expired. */
export async function again<P extends Payer | Seller>(call: Call, who: P): Promise<P> {
  const { body } = await call('POST', '/v4/account/oauth/token', { headers: basic(who.clientId, who.clientSecret) })
  return { ...who, token: body.access_token }
}

/** What the log of a caller says of transfers, oldest first. */
export async function transferEvents(call: Call, caller: CallOptions): Promise<any[]> {
  const { body } = await call('GET', '/v4/events?limit=100', caller)
  return body.events.filter(({ type }: { type: string }) => type.startsWith('transfer.')).reverse()
}

export const typesOf = (events: { type: string }[]): string[] => events.map(({ type }) => type)

/** What the caller's first wallet holds of what is counted in by default. */
export async function walletOf(call: Call, caller: CallOptions): Promise<number> {
  const { twins } = (await call('GET', '/v4/twins', caller)).body
  return Object.values(twins.at(-1).balances as Record<string, number>)[0] ?? 0
}
