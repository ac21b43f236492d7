import { expect } from 'vitest'
import type { Answer, Call, CallOptions } from '../api.js'
import type { Start } from '../contract/contract.js'
import { prepared } from '../contract/prepared.js'
import { type Item, newItem } from './catalog.js'
import { fund, stopClock } from './market.js'
import { newAgent } from './oidc.js'
import { balanceOf, newPayer, newSeller, type Payer, type Seller } from './world.js'

/** Steps of agents that ask their user, and of the user who answers, through the public interface. */

export interface AgentShop {
  readonly call: Call
  /** The time of the stopped clock, in Unix milliseconds. */
  readonly at: number
  readonly seller: Seller
  /** The agent's user, who holds 10. */
  readonly payer: Payer
  /** Their agent. */
  readonly agent: { readonly token: string }
  /** Of the twin that it pays from, which holds 10. */
  readonly wallet: string
  readonly item: Item
}

/** A seller of one item and a user with an agent, with a stopped clock. */
export const newAgentShop = (start: Start, fields: object = {}): Promise<AgentShop & Awaited<ReturnType<Start>>> =>
  agentShop(start, fields)

const agentShop = prepared(async (call, fields: object) => {
  const at = await stopClock(call)
  const seller = await newSeller(call)
  const item = await newItem(call, seller, fields)
  const payer = await newPayer(call, seller, { balance: 10 })
  const agent = await anotherAgent(call, payer)
  const wallet = (await call('GET', '/v4/twins', payer)).body.twins[0].hostname as string
  await fund(call, wallet, 10)
  return { at, seller, payer, agent, wallet, item }
})

export const anotherAgent = async (call: Call, { email }: Pick<Payer, 'email'>) => ({
  token: (await newAgent(call, { email })).accessToken,
})

export const requestApproval = (call: Call, agent: CallOptions, wish: object): Promise<Answer> =>
  call('POST', '/v4/agent/approvals', { ...agent, body: wish })

export const answerApproval = (call: Call, user: CallOptions, id: string, verb = 'approve'): Promise<Answer> =>
  call('POST', `/v4/approvals/${id}/${verb}`, user)

/** What the user approved, ready to be spent: the approval's id. */
export async function approved(call: Call, { agent, payer }: Pick<AgentShop, 'agent' | 'payer'>, wish: object) {
  const asked = await requestApproval(call, agent, wish)
  expect(asked.status, asked.text).toBe(201)
  const { approval_id } = asked.body
  expect((await answerApproval(call, payer, approval_id)).body.status).toBe('approved')
  return approval_id as string
}

/** What the agent's wallet and the user's own hold. */
export const heldBy = async (call: Call, { payer, wallet }: Pick<AgentShop, 'payer' | 'wallet'>) => [
  await balanceOf(call, payer.token, wallet),
  await balanceOf(call, payer.token, payer.hostname),
]

/** What the user's log says of approvals, oldest first. */
export async function approvalEvents(call: Call, { token }: Pick<Payer, 'token'>): Promise<string[]> {
  const { events } = (await call('GET', '/v4/events?limit=100', { token })).body
  return events
    .map(({ type }: { type: string }) => type)
    .filter((type: string) => type.startsWith('approval.'))
    .map((type: string) => type.slice('approval.'.length))
    .reverse()
}
