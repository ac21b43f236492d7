import type * as sdk from '@modelcontextprotocol/server'
import { acceptedContent, createRequestStateCodec } from '@modelcontextprotocol/server'
import { serve } from '../../../adapters/node.js'
import { answerMessage, type McpOffer, type Sdk } from '../../../src/agents/mcp/offer.js'
import { consoleLog } from '../../../src/base/ports.js'

/** An MCP server of the service's own wiring that offers what MCP's conformance suite asks for by name. */

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='

type Run = (call: {
  args: Record<string, unknown>
  context: sdk.ServerContext
  sdk: Sdk
}) => Promise<sdk.CallToolResult | sdk.InputRequiredResult> | sdk.CallToolResult | sdk.InputRequiredResult

const text = (said: string): sdk.CallToolResult => ({ content: [{ type: 'text', text: said }] })
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' } as const
const embedded = (uri: string, mimeType: string, held: string) =>
  ({ type: 'resource', resource: { uri, mimeType, text: held } }) as const
const pause = () => new Promise((resolve) => setTimeout(resolve, 50))

const asked = (message: string, properties: Record<string, object>) => ({
  method: 'elicitation/create' as const,
  params: {
    mode: 'form' as const,
    message,
    requestedSchema: { type: 'object' as const, properties: properties as never, required: Object.keys(properties) },
  },
})
const sampled = (question: string, maxTokens = 100) => ({
  method: 'sampling/createMessage' as const,
  params: { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: question } }], maxTokens },
})
const roots = { method: 'roots/list' as const }
const name = asked('What is your name?', { name: { type: 'string' } })

/** What a client filled in for the requested fields. */
function filled({ context }: Parameters<Run>[0], key: string, field: string): unknown {
  return acceptedContent<Record<string, unknown>>(context.mcpReq.inputResponses, key)?.[field]
}

/** Repeats a call until it returns the wanted result. */
const needs =
  (requests: sdk.InputRequests, done: (call: Parameters<Run>[0]) => sdk.CallToolResult | undefined): Run =>
  (call) =>
    done(call) ?? call.sdk.inputRequired({ inputRequests: requests })

/** Of whom a tool was called by while its subscriber listens. */
const subscribers = new Set<(event: sdk.ServerEvent) => void>()
const tell = (kind: 'tools_list_changed' | 'prompts_list_changed') => {
  for (const subscriber of subscribers) subscriber({ kind })
  return text('changed')
}

const KEY = 'of the fixtures, and nobody else: 32 bytes at least'

const elicited = (call: Parameters<Run>[0], key: string): string => {
  const answer = call.sdk.inputResponse(call.context.mcpReq.inputResponses, key)
  return answer.kind === 'elicit' ? `action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}` : ''
}

const form =
  (properties: Record<string, object>): Run =>
  (call) => {
    const said = elicited(call, 'form')
    if (said) return text(`Elicitation completed: ${said}`)
    return call.sdk.inputRequired({ inputRequests: { form: asked('Please fill this in', properties) } })
  }

const titled = (...pairs: [string, string][]) => pairs.map(([value, title]) => ({ const: value, title }))

const tools: Record<string, Run> = {
  test_simple_text: () => text('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({
    content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }),
  test_error_handling: () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  async test_tool_with_logging({ context }) {
    for (const said of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await context.mcpReq.log('info', said)
      await pause()
    }
    return text('logged')
  },
  async test_logging_tool({ context }) {
    await context.mcpReq.log('info', 'said')
    return text('logged')
  },
  async test_tool_with_progress({ context }) {
    const progressToken = context.mcpReq._meta?.progressToken
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      await context.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100 } as never,
      })
      await pause()
    }
    return text('done')
  },
  test_elicitation: form({ username: { type: 'string' }, email: { type: 'string' } }),
  test_elicitation_sep1034_defaults: form({
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  }),
  test_elicitation_sep1330_enums: form({
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled(['value1', 'First Option'], ['value2', 'Second Option']) },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
    titledMulti: { type: 'array', items: { anyOf: titled(['value1', 'First Choice'], ['value2', 'Second Choice']) } },
  }),
  test_sampling: (call) => {
    const answer = call.sdk.inputResponse(call.context.mcpReq.inputResponses, 'answer')
    if (answer.kind === 'sampling') return text(`LLM response: ${JSON.stringify(answer.result)}`)
    return call.sdk.inputRequired({ inputRequests: { answer: sampled(String(call.args.prompt)) } })
  },
  test_missing_capability: ({ sdk }) => sdk.inputRequired({ inputRequests: { answer: sampled('Anything?') } }),
  test_streaming_elicitation: form({ ok: { type: 'boolean' } }),
  test_trigger_tool_change: () => tell('tools_list_changed'),
  test_trigger_prompt_change: () => tell('prompts_list_changed'),
  test_input_required_result_elicitation: needs({ user_name: name }, (call) => {
    const given = filled(call, 'user_name', 'name')
    return typeof given === 'string' ? text(`Hello, ${given}!`) : undefined
  }),
  test_input_required_result_sampling: needs(
    { capital_question: sampled('What is the capital of France?') },
    (call) => {
      const answer = call.sdk.inputResponse(call.context.mcpReq.inputResponses, 'capital_question')
      return answer.kind === 'sampling' ? text(JSON.stringify(answer.result.content)) : undefined
    },
  ),
  test_input_required_result_list_roots: needs({ client_roots: roots }, (call) => {
    const answer = call.sdk.inputResponse(call.context.mcpReq.inputResponses, 'client_roots')
    return answer.kind === 'roots' ? text(JSON.stringify(answer.roots)) : undefined
  }),
  test_input_required_result_capabilities({ context, sdk }) {
    const envelope = context.mcpReq.envelope as Record<string, sdk.ClientCapabilities> | undefined
    const { sampling, elicitation } = envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY] ?? {}
    const inputRequests = { ...(sampling && { answer: sampled('Anything?') }), ...(elicitation && { user_name: name }) }
    return sdk.inputRequired({ inputRequests })
  },
  async test_input_required_result_request_state(call) {
    if (call.context.mcpReq.requestState() !== undefined) return text('state-ok')
    const confirm = asked('Please confirm', { ok: { type: 'boolean' } })
    return call.sdk.inputRequired({ inputRequests: { confirm }, requestState: await sealed(call, 1) })
  },
  async test_input_required_result_tampered_state(call) {
    if (call.context.mcpReq.requestState() !== undefined) return text('state-ok')
    const confirm = asked('Please confirm', { ok: { type: 'boolean' } })
    return call.sdk.inputRequired({ inputRequests: { confirm }, requestState: await sealed(call, 1) })
  },
  async test_input_required_result_multiple_inputs(call) {
    if (call.context.mcpReq.requestState() !== undefined) return text('all there')
    const inputRequests = { user_name: name, greeting: sampled('Generate a greeting', 50), client_roots: roots }
    return call.sdk.inputRequired({ inputRequests, requestState: await sealed(call, 1) })
  },
  async test_input_required_result_multi_round(call) {
    const round = call.context.mcpReq.requestState<number>() ?? 0
    if (round === 2) return text('Thank you.')
    const step =
      round === 0 ? { step1: name } : { step2: asked('What is your favorite color?', { color: { type: 'string' } }) }
    return call.sdk.inputRequired({ inputRequests: step, requestState: await sealed(call, round + 1) })
  },
}

const sealed = ({ context }: Parameters<Run>[0], round: number): Promise<string> =>
  createRequestStateCodec({ key: KEY }).mint(round, context)

const user = (content: sdk.PromptMessage['content']): sdk.PromptMessage => ({ role: 'user', content })
const said = (line: string) => user({ type: 'text', text: line })

const prompts: Record<string, { args?: string[]; get: (args: Record<string, string>) => sdk.PromptMessage[] }> = {
  test_simple_prompt: { get: () => [said('This is a simple prompt for testing.')] },
  test_prompt_with_arguments: {
    args: ['arg1', 'arg2'],
    get: ({ arg1, arg2 }) => [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    args: ['resourceUri'],
    get: ({ resourceUri = '' }) => [
      user(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
      said('Please process the embedded resource above.'),
    ],
  },
  test_prompt_with_image: { get: () => [user(image), said('Please analyze the image above.')] },
  test_input_required_result_prompt: { get: () => [said('with context')] },
}

const resources: Record<string, object> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PIXEL },
  'test://watched-resource': { mimeType: 'text/plain', text: 'watched' },
}

function held(uri: string): object | undefined {
  const [, id] = /^test:\/\/template\/(\w+)\/data$/.exec(uri) ?? []
  if (id === undefined) return resources[uri]
  return { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }
}

const offer = (sdk: Sdk): McpOffer => ({
  info: { name: 'fixtures', version: '1.0.0' },
  capabilities: (era) => {
    const listChanged = era === 'modern'
    const shared = { tools: { listChanged }, prompts: { listChanged }, resources: { subscribe: true }, completions: {} }
    return { ...shared, logging: {} }
  },
  handlers: {
    'tools/list': async () => ({
      tools: Object.keys(tools).map((name) => ({ name, description: name, inputSchema: { type: 'object' as const } })),
    }),
    async 'tools/call'(params, context) {
      const run = tools[params.name as string]
      if (!run) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, 'no such tool')
      return run({ args: (params.arguments ?? {}) as Record<string, unknown>, context, sdk })
    },
    'resources/list': async () => ({ resources: Object.keys(resources).map((uri) => ({ uri, name: uri })) }),
    'resources/templates/list': async () => ({
      resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
    }),
    async 'resources/read'({ uri }) {
      const found = held(uri as string)
      if (!found) throw new sdk.ResourceNotFoundError(uri as string)
      return { contents: [{ uri, ...found }] }
    },
    'resources/subscribe': async () => ({}),
    'resources/unsubscribe': async () => ({}),
    'logging/setLevel': async () => ({}),
    'completion/complete': async () => ({ completion: { values: ['paris', 'park'], total: 2, hasMore: false } }),
    'prompts/list': async () => ({
      prompts: Object.entries(prompts).map(([name, { args = [] }]) => ({
        name,
        description: name,
        arguments: args.map((each) => ({ name: each, required: true })),
      })),
    }),
    async 'prompts/get'(params, context) {
      const prompt = prompts[params.name as string]
      if (!prompt) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, 'no such prompt')
      if (params.name === 'test_input_required_result_prompt' && !context.mcpReq.inputResponses) {
        const user_context = asked('What context should the prompt use?', { context: { type: 'string' } })
        return sdk.inputRequired({ inputRequests: { user_context } })
      }
      return { messages: prompt.get((params.arguments ?? {}) as Record<string, string>) }
    },
  },
  openState: (state) => createRequestStateCodec<number>({ key: KEY }).verify(state, undefined as never),
  watch: async () => (subscriber) => {
    subscribers.add(subscriber)
    return () => subscribers.delete(subscriber)
  },
})

/** Serves the fixtures over HTTP on loopback. */
export const startFixtures = () =>
  serve(
    {
      async fetch(request) {
        if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } })
        const { url, headers } = request
        const origin = headers.get('origin')
        if (origin !== null && !/^http:\/\/(localhost|127\.0\.0\.1)(:\d+)?$/.test(origin))
          return new Response(null, { status: 403 })
        const body = (await request.json()) as Record<string, unknown>
        const answer = await answerMessage(offer, { url, headers, body, ending: undefined }, consoleLog)
        return new Response(answer.body, { status: answer.status, headers: answer.headers })
      },
    },
    { port: 0 },
  )
