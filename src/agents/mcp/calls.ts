import type * as sdk from '@modelcontextprotocol/server'
import { Problem, problem } from '../../base/problem.js'
import { canonicalJson, digest } from '../../base/secrets.js'
import type { ShownApproval } from '../../consent/approvals/approval.js'
import { z } from '../../http/fields/schema.js'
import type { Arguments } from '../../market/catalog/schema.js'
import { type Reader, StorageUnavailable } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import { readApproval, requestApproval, type SentWish, wishOf, withOffer, withUrl } from '../agents/request.js'
import { leadsToUrls, opensUrls, payingClientOf } from './declared.js'
import { DialectError, type Sdk } from './offer.js'
import { plainLine, toolResultOf } from './tools/plain.js'
import type { Json, Tool } from './tools/tool.js'
import type { SaleAnswer } from './tools/tool-dialect.js'
import { toolNamed } from './tools/tools.js'
import type { McpVisit } from './tools/visit.js'

export async function callTool(loaded: Sdk, visit: McpVisit, params: Json, context: sdk.ServerContext) {
  const name = String(params.name)
  const args = isObject(params.arguments) ? params.arguments : {}
  const found = await visit.service.storage.read((tx) => toolNamed(tx, visit, name))
  if (!found)
    throw new loaded.ProtocolError(
      loaded.ProtocolErrorCode.InvalidParams,
      `There is no tool ${name}. tools/list lists all tools.`,
    )
  try {
    const approval = await answeredApproval(loaded, visit, { name, args }, context)
    if (typeof approval === 'object') return approval
    const client = approval === undefined ? await payingClientOf(loaded, visit, context) : undefined
    const sold = client && (await attempt(found, visit, async () => found.sell?.(args, visit, client)))
    if (sold) return resultOfSale(sold)
    return toolResultOf(await called(found, args, { ...visit, approvalId: approval }))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.code !== 'approval_required') return refusalOf(withUrl(error, visit.service))
    if (!leadsToUrls(loaded, context))
      return offerOrCall(loaded, { tool: found, args, visit, refused: error }, context).catch(refusedAgain)
    // The problem `approval_required` contains the fields to request.
    return ask(loaded, visit, { name, args }, error.fields.approval as never).catch(refusedAgain)
  }
}

function resultOfSale(sold: SaleAnswer): sdk.CallToolResult {
  if ('result' in sold) return sold.result
  throw new DialectError(sold.error)
}

/**
 * Makes a refused call with the approval that an earlier refusal of it offered and the user gave. Otherwise offers one.
 * A client of 2025-11-25 that opens URLs is led to it. When it repeats the call, the call waits for the user.
 */
async function offerOrCall(loaded: Sdk, { tool, args, visit, refused }: RefusedCall, { mcpReq }: sdk.ServerContext) {
  const offer = () => withOffer(refused, visit.agent, visit.service, visit.within)
  let { refusal, approval } = await offer()
  if (approval?.status === 'pending' && (await opensUrls(visit))) {
    const { approval_id: elicitationId } = approval
    if (!approval.isRepeated || !(await isDecided(visit, elicitationId, mcpReq.signal)))
      throw urlRequired(loaded, approval)
    await mcpReq.notify({ method: 'notifications/elicitation/complete', params: { elicitationId } })
    ;({ refusal, approval } = await offer())
  }
  if (approval?.status !== 'approved') return refusalOf(refusal)
  return toolResultOf(await called(tool, args, { ...visit, approvalId: approval.approval_id }))
}

interface RefusedCall {
  readonly tool: Tool
  readonly args: Arguments
  readonly visit: McpVisit
  readonly refused: Problem
}

function refusedAgain(error: unknown): sdk.CallToolResult {
  if (error instanceof Problem) return refusalOf(error)
  throw error
}

const called = (tool: Tool, args: Arguments, call: Parameters<Tool['call']>[1]): Promise<object> =>
  attempt(tool, call, () => tool.call(args, call))

/** Turns a defect into a refusal, so that the agent knows that its call failed. */
async function attempt<T>(
  { name, annotations }: Tool,
  { service }: Pick<McpVisit, 'service'>,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof Problem) throw error
    service.log.error(`the tool ${name} failed`, error)
    if (!(error instanceof StorageUnavailable)) throw problem('internal_error')
    // An earlier step of the call may have landed.
    throw problem(annotations.readOnlyHint === true ? 'storage_unavailable' : 'outcome_unknown')
  }
}

function refusalOf({ code, fields, body }: Problem): sdk.CallToolResult {
  const next = nextOf(code, fields)
  return { ...toolResultOf({ ...body, ...(next !== undefined && { next }) }), isError: true }
}

function nextOf(code: string, { approval, url }: Problem['fields']): string | undefined {
  if (code === 'account_not_granted')
    return 'Call choose_account and show the user the `url` of its result. When they have chosen a business account, make this call again.'
  if (code !== 'approval_required') return undefined
  if (url !== undefined)
    return 'Show the user the `url`, where they approve exactly this call. Then make the same call again, with the `approval_id`.'
  return isObject(approval) && approval.kind === 'account_change'
    ? 'Call request_account_change with the `change` of `approval`, and show the user the `url` of its result.'
    : 'Call request_approval with the fields of `approval`, and show the user the `url` of its result.'
}

/** What a client stores while its user is asked. Encrypted for this user, app and call. */
const AskState = z.object({ approval_id: z.string(), call: z.string(), waits: z.int() })
type AskState = Readonly<z.output<typeof AskState>>

/** How long one round waits for the user, and how many rounds there are before the agent gets a refusal. */
const WAIT_MS = 20_000
const MOST_WAITS = 6

/** Identifies a call by its tool and arguments, in any order of fields. */
const callOf = (name: string, args: object): string => digest(canonicalJson([name, args]))
const sealedFor = ({ agent }: McpVisit): string => `mcp request state:${agent.user_id}:${agent.client_id}`

export async function openState(visit: McpVisit, state: string): Promise<AskState> {
  const opened = await visit.service.keys.open(state, sealedFor(visit))
  if (opened === undefined) throw new Error('no state of this caller')
  return AskState.parse(JSON.parse(opened))
}

const sealState = (visit: McpVisit, state: AskState): Promise<string> =>
  visit.service.keys.seal(JSON.stringify(state), sealedFor(visit))

const messageFor = (summary: string): string => `${plainLine(summary)}: this needs your approval.`

/** Makes a client of 2025-11-25 open the approval's URL, where its user approves, and call again. */
export function urlRequired(
  { UrlElicitationRequiredError }: Sdk,
  { approval_id: elicitationId, url, summary }: ShownApproval,
): sdk.UrlElicitationRequiredError {
  const message = messageFor(summary)
  const retry = `${message} The user can give it at ${url}. Then make the same call again.`
  return new UrlElicitationRequiredError([{ mode: 'url', elicitationId, url, message }], retry)
}

/** The part of a tool call that its approval depends on. */
export type AskedCall = { readonly name: string; readonly args: object }

/** Makes the client open the URL of a new approval and retry. Throws what `requestApproval` throws. */
export async function ask({ inputRequired }: Sdk, visit: McpVisit, call: AskedCall, wish: SentWish) {
  const { agent, within, service } = visit
  const asked = await service.storage.write((tx) => requestApproval(tx, agent, wishOf(wish), service, within))
  const { approval_id, url, summary } = asked
  return inputRequired({
    inputRequests: { approval: inputRequired.elicitUrl({ message: messageFor(summary), url }) },
    requestState: await sealState(visit, { approval_id, call: callOf(call.name, call.args), waits: 0 }),
  })
}

/**
 * Returns the approval id of a retried call, a result to wait further, or undefined for a call without state. Throws
 * `approval_not_given`, and a protocol error for the state of a different call.
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
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The requestState belongs to a different call.')
  const { approval_id, waits } = state
  const answer = inputResponse(mcpReq.inputResponses, 'approval')
  if (answer.kind === 'elicit' && answer.action !== 'accept')
    throw problem('approval_not_given', { detail: 'The user did not open the approval link.', fields: { approval_id } })
  // The call itself says why an approval is not given.
  if (waits >= MOST_WAITS || (await isDecided(visit, approval_id, mcpReq.signal))) return approval_id
  return inputRequired({ requestState: await sealState(visit, { ...state, waits: waits + 1 }) })
}

/** Whether the user answers within a while. Throws `token_invalid` if the agent's token ends. */
export async function isDecided({ agent, service, isAuthenticated }: McpVisit, id: string, signal: AbortSignal) {
  const { storage, background } = service
  const ended = new AbortController()
  const end = () => ended.abort()
  signal.addEventListener('abort', end)
  const stop = service.alarm.set(WAIT_MS, end)
  const look = async (tx: Reader) => {
    if (!(await isAuthenticated(tx))) throw problem('token_invalid')
    return (await readApproval(tx, agent, id, service)).status
  }
  try {
    for (;;) {
      const how = { ms: WAIT_MS / 10, ending: ended.signal, storage }
      const { value: status, changed } = await background.watch(how, look)
      if (status !== 'pending') return true
      if (!(await changed)) return false
    }
  } finally {
    end()
    stop()
    signal.removeEventListener('abort', end)
  }
}
