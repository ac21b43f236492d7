import type * as sdk from '@modelcontextprotocol/server'
import { canonicalJson } from '../../base/hash.js'
import { problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import { approvals } from '../../consent/approvals/approval.js'
import { oidcConnections } from '../../consent/oidc/connection.js'
import { oidcTokens } from '../../consent/oidc/token.js'
import { z } from '../../http/fields/schema.js'
import type { Reader } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import { readApproval } from '../agents/approval.js'
import { requestApproval, wishOf } from '../agents/request.js'
import type { Sdk } from './offer.js'
import { plainLine } from './tools/plain.js'
import type { McpVisit } from './tools/visit.js'

/** What a client holds while its user is asked: sealed, for this user by this app, and for no other call. */
const AskState = z.object({
  approval_id: z.string(),
  /** Names the call. */
  call: z.string(),
  /** How often it was waited for the user since. */
  waits: z.int(),
})
type AskState = Readonly<z.output<typeof AskState>>

/** How long one round waits for the user, and how many do: then the agent is told that there is no answer yet. */
const WAIT_MS = 20_000
const MOST_WAITS = 6

/** Names a call by its tool and arguments, whatever the order of their fields. */
const callOf = (name: string, args: object): string => digest(canonicalJson([name, args]))

const sealedFor = ({ agent }: McpVisit): string => `mcp request state:${agent.user_id}:${agent.client_id}`

export async function openState(visit: McpVisit, state: string): Promise<AskState> {
  const opened = await visit.service.keys.open(state, sealedFor(visit))
  if (opened === undefined) throw new Error('no state of this caller')
  return AskState.parse(JSON.parse(opened))
}

const sealState = (visit: McpVisit, state: AskState): Promise<string> =>
  visit.service.keys.seal(JSON.stringify(state), sealedFor(visit))

/** Whether the client leads its user to an address when it is asked to: said with each request, from 2026-07-28 on. */
export function leadsToUrls({ CLIENT_CAPABILITIES_META_KEY }: Sdk, { mcpReq }: sdk.ServerContext): boolean {
  const declared = fieldOf(mcpReq.envelope, CLIENT_CAPABILITIES_META_KEY)
  return fieldOf(fieldOf(declared, 'elicitation'), 'url') !== undefined
}

const fieldOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** A call of a tool, as far as asking for it goes. */
export interface AskedCall {
  readonly name: string
  readonly args: object
}

/** Asks the user for approval in place: what to answer, so that the client leads them there and comes back. Throws as `requestApproval`. */
export async function ask(
  { inputRequired }: Sdk,
  visit: McpVisit,
  call: AskedCall,
  wish: Parameters<typeof wishOf>[0],
): Promise<sdk.InputRequiredResult> {
  const { agent, within, service } = visit
  const asked = await service.storage.write((tx) => requestApproval(tx, agent, wishOf(wish), service, within))
  const { approval_id, url, summary } = asked
  return inputRequired({
    inputRequests: {
      approval: inputRequired.elicitUrl({ message: `${plainLine(summary)}: this needs your approval.`, url }),
    },
    requestState: await sealState(visit, { approval_id, call: callOf(call.name, call.args), waits: 0 }),
  })
}

/**
 * The approval that a call comes back with; or what to answer while the user has not decided. Undefined for a call that was not asked about.
 * Throws `approval_not_given`, and a protocol error for a state of another call.
 */
export async function answeredApproval(
  loaded: Sdk,
  visit: McpVisit,
  { name, args }: AskedCall,
  { mcpReq }: sdk.ServerContext,
): Promise<string | sdk.InputRequiredResult | undefined> {
  const state = mcpReq.requestState<AskState>()
  if (state === undefined) return undefined
  const { ProtocolError, ProtocolErrorCode, inputRequired, inputResponse } = loaded
  if (state.call !== callOf(name, args))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The requestState is of another call.')
  const { approval_id, waits } = state
  const answer = inputResponse(mcpReq.inputResponses, 'approval')
  if (answer.kind === 'elicit' && answer.action !== 'accept')
    throw problem('approval_not_given', { detail: 'The user did not go there.', fields: { approval_id } })
  // The last word is the call's own: it says what came of an approval that is not given.
  if (waits >= MOST_WAITS || (await isDecided(visit, approval_id, mcpReq.signal))) return approval_id
  return inputRequired({ requestState: await sealState(visit, { ...state, waits: waits + 1 }) })
}

/** What an answer, or the end of the agent's token, is written to. */
const WATCHED = [approvals, oidcTokens, oidcConnections].map(({ name }) => name)

/** Whether the user has answered, once they have or after a while. Throws `token_invalid` where the agent's token ended meanwhile. */
async function isDecided(
  { agent, service, isAuthenticated }: McpVisit,
  approvalId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { storage, background } = service
  const ended = new AbortController()
  const end = () => ended.abort()
  signal.addEventListener('abort', end)
  const stop = service.alarm.set(WAIT_MS, end)
  const look = async (tx: Reader) => {
    if (!(await isAuthenticated(tx))) throw problem('token_invalid')
    return (await readApproval(tx, agent, approvalId, service)).status
  }
  try {
    for (;;) {
      const written = background.nextWrite(WATCHED, WAIT_MS / 10, ended.signal)
      if ((await storage.read(look)) !== 'pending') return true
      if (!(await written)) return false
    }
  } finally {
    end()
    stop()
    signal.removeEventListener('abort', end)
  }
}
