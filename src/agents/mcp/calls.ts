import type * as sdk from '@modelcontextprotocol/server'
import { Problem, problem } from '../../base/problem.js'
import type { Arguments } from '../../market/catalog/schema.js'
import { isObject } from '../../storage/unknown.js'
import { answeredApproval, ask, leadsToUrls } from './ask.js'
import type { Sdk } from './offer.js'
import { plainAnswer } from './tools/plain.js'
import type { Json, Tool } from './tools/tool.js'
import { toolNamed } from './tools/tools.js'
import type { McpVisit } from './tools/visit.js'

type Result = sdk.CallToolResult | sdk.InputRequiredResult

/** Calls a tool. A refusal is a result too, so that the agent can react to it. */
export async function callTool(
  loaded: Sdk,
  visit: McpVisit,
  params: Json,
  context: sdk.ServerContext,
): Promise<Result> {
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
    return resultOf(await called(found, args, { ...visit, approvalId: approval }))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { approval } = error.fields
    const isAsked = error.code === 'approval_required' && leadsToUrls(loaded, context)
    if (!isAsked) return refusalOf(error)
    // The problem `approval_required` contains the fields to request.
    return ask(loaded, visit, { name, args }, approval as never).catch((again: unknown) => {
      if (again instanceof Problem) return refusalOf(again)
      throw again
    })
  }
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

function resultOf(answer: object): sdk.CallToolResult {
  const structuredContent = plainAnswer(answer)
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
}

/** Adds to a refusal which tool to call next. */
function refusalOf({ code, fields, body }: Problem): sdk.CallToolResult {
  const next = nextOf(code, fields)
  return { ...resultOf({ ...body, ...(next !== undefined && { next }) }), isError: true }
}

function nextOf(code: string, { approval }: Problem['fields']): string | undefined {
  if (code === 'account_not_granted')
    return 'Call choose_account and show the user the `url` of its result. When they have chosen a business account, make this call again.'
  if (code !== 'approval_required') return undefined
  return isObject(approval) && approval.kind === 'account_change'
    ? 'Call request_account_change with the `change` of `approval`, and show the user the `url` of its result.'
    : 'Call request_approval with the fields of `approval`, and show the user the `url` of its result.'
}
