import { expect } from 'vitest'
import type { Answer, Call, CallOptions } from '../api.js'
import { requestApproval } from './approvals.js'
import { newAgent, newApp } from './oidc.js'
import { defaultDq, newSession, type Seller, tokenFor } from './world.js'

/** Steps of agents that look after a business account, and of the user who owns it, through the public interface. */

export interface Business {
  readonly seller: Pick<Seller, 'id' | 'token'>
  /** Of the account's first wallet. */
  readonly hostname: string
  readonly email: string
  /** Of the owner, who signed in a moment ago. */
  readonly session: string
  readonly agent: { readonly token: string }
}

/** An account with the user who owns it. */
export async function newOwnAccount(call: Call, email: string) {
  const { body } = await call('POST', '/v4/account/register', { body: { dq: await defaultDq(call), email } })
  const { client_id, client_secret } = body.account.secrets[1]
  const token = await tokenFor(call, client_id, client_secret)
  return { id: body.account.id as number, token, hostname: body.twin.hostname as string }
}

/** An account that its owner granted to an agent. */
export async function newBusiness(call: Call, email = 'grace@example.test'): Promise<Business> {
  const { hostname, ...seller } = await newOwnAccount(call, email)
  const session = await newSession(call, email)
  const { accessToken } = await newAgent(call, { app: await newApp(call), session, account: String(seller.id) })
  return { seller, hostname, email, session, agent: { token: accessToken } }
}

export const requestChange = (call: Call, agent: CallOptions, change: object): Promise<Answer> =>
  requestApproval(call, agent, { kind: 'account_change', change })

/** Presses a button of the page at which the user answers. */
export const pressApproval = (
  call: Call,
  session: string | undefined,
  id: string,
  form: Record<string, string>,
): Promise<Answer> => call('POST', `/approvals/${id}`, { ...(session !== undefined && { session }), form })

/** A change that the owner approved: the approval's id. */
export async function approvedChange(
  call: Call,
  { agent, session }: Pick<Business, 'agent' | 'session'>,
  change: object,
): Promise<string> {
  const asked = await requestChange(call, agent, change)
  expect(asked.status, asked.text).toBe(201)
  const id = asked.body.approval_id as string
  expect((await pressApproval(call, session, id, { answer: 'approve' })).status).toBe(303)
  return id
}

export const applyChange = (call: Call, agent: CallOptions, approval_id: string): Promise<Answer> =>
  call('POST', '/v4/agent/account-changes', { ...agent, body: { approval_id } })

/** Of a link at which an account is chosen, what follows the service's own address. */
export const pathOf = (url: string): string => url.slice(url.indexOf('/agents/account-choice/'))
