import type * as sdk from '@modelcontextprotocol/server'
import { Problem, problem } from '../../base/problem.js'
import type { Arguments } from '../../market/catalog/schema.js'
import { isObject } from '../../storage/unknown.js'
import { withOffer, withUrl } from '../agents/refusal.js'
import { answeredApproval, ask, isDecided, leadsToUrls, opensUrls, urlRequired } from './ask.js'
import type { Sdk } from './offer.js'
import { plainAnswer } from './tools/plain.js'
import type { Json, Tool } from './tools/tool.js'
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
    return callToolResult(await called(found, args, { ...visit, approvalId: approval }))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.code !== 'approval_required') return refusalOf(withUrl(error, visit.service))
    if (!leadsToUrls(loaded, context))
      return offerOrCall(loaded, { tool: found, args, visit, refused: error }, context).catch(refusedAgain)
    // The problem `approval_required` contains the fields to request.
    return ask(loaded, visit, { name, args }, error.fields.approval as never).catch(refusedAgain)
  }
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
  return callToolResult(await called(tool, args, { ...visit, approvalId: approval.approval_id }))
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

/** Turns a defect into a refusal, so that the agent knows that its call failed. */
async function called(tool: Tool, args: Arguments, call: Parameters<Tool['call']>[1]): Promise<object> {
  try {
    return await tool.call(args, call)
  } catch (error) {
    if (error instanceof Problem) throw error
    call.service.log.error(`the tool ${tool.name} failed`, error)
    throw problem('internal_error')
  }
}

function callToolResult(answer: object): sdk.CallToolResult {
  const structuredContent = plainAnswer(answer)
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
}

function refusalOf({ code, fields, body }: Problem): sdk.CallToolResult {
  const next = nextOf(code, fields)
  return { ...callToolResult({ ...body, ...(next !== undefined && { next }) }), isError: true }
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
