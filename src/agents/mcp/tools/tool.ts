import { once } from '../../../base/memo.js'
import { Problem, problem } from '../../../base/problem.js'
import { z } from '../../../http/fields/schema.js'
import { type Arguments, checkArguments } from '../../../market/catalog/schema.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { isObject } from '../../../storage/unknown.js'
import type { PayingClient } from './paying-client.js'
import { withSingleTypes } from './plain.js'
import type { SaleAnswer } from './tool-dialect.js'
import type { McpVisit } from './visit.js'

export type Json = Record<string, unknown>

export interface ToolCall extends McpVisit {
  /** The approval that the user gave in place for this call. */
  readonly approvalId: string | undefined
}

/** What a tool does, so that clients can decide whether to ask first. */
export interface Hints {
  /** It changes nothing. */
  readonly reads?: boolean
  /** It moves value and cannot be undone. */
  readonly spends?: boolean
  /** Calling it twice has the effect of calling it once. */
  readonly repeats?: boolean
  /** It calls services of others. */
  readonly reachesOut?: boolean
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: Json
  readonly outputSchema: Json
  readonly annotations: Json
  readonly _meta?: Json
  /** Returns the structured content. Throws a `Problem` for a refusal. */
  call(args: Arguments, call: ToolCall): Promise<object>
  /** Sells the call to a client that pays in it. Absent, or undefined: it is called as usual. */
  sell?(args: Arguments, visit: McpVisit, client: PayingClient): Promise<SaleAnswer | undefined>
}

/** How a tool acts: in one transaction that reads or writes, or by itself. */
type Act<Args> =
  | { read(tx: Reader, args: Args, call: ToolCall): Promise<object>; write?: never; call?: never }
  | { write(tx: Writer, args: Args, call: ToolCall): Promise<object>; read?: never; call?: never }
  | { call(args: Args, call: ToolCall): Promise<object>; read?: never; write?: never }

export function tool<I extends z.ZodMiniObject>(
  definition: Pick<Tool, 'name' | 'title' | 'description'> & {
    readonly input: I
    readonly output: z.ZodMiniType
    readonly hints?: Hints
    readonly sell?: (args: z.output<I>, visit: McpVisit, client: PayingClient) => Promise<SaleAnswer | undefined>
  } & Act<z.output<I>>,
): Tool {
  const { input, output, read, write, call, sell, hints = { reads: read !== undefined }, ...words } = definition
  // Created on first use, so that a service starts without them.
  const schemas = {
    input: once(() => jsonSchema(input)),
    output: once(() => (sell ? soldAnswersOf(output) : answersOf(output))),
  }
  // Arguments that match the JSON Schema match the schema that it was made from.
  const checkedArgs = (given: Arguments) => checked(schemas.input(), given) as z.output<I>
  return {
    ...words,
    get inputSchema() {
      return schemas.input()
    },
    get outputSchema() {
      return schemas.output()
    },
    annotations: annotationsOf(words.title, hints),
    async call(given, at) {
      const args = checkedArgs(given)
      const { storage } = at.service
      if (read) return storage.read((tx) => read(tx, args, at))
      return write ? storage.write((tx) => write(tx, args, at)) : call(args, at)
    },
    ...(sell && { sell: async (given, visit, client) => sell(checkedArgs(given), visit, client) }),
  }
}

export const annotationsOf = (title: string, { reads, spends, repeats, reachesOut }: Hints): Json => ({
  title,
  readOnlyHint: reads ?? false,
  destructiveHint: spends ?? false,
  idempotentHint: repeats ?? reads ?? false,
  openWorldHint: reachesOut ?? false,
})

/** Adds refusals to an output schema, because clients check them too. */
export const answersOf = (output: z.ZodMiniType): Json => ({ type: 'object', anyOf: [jsonSchema(output), refused] })

/** Adds what a call costs too, for tools that clients pay for in the call. */
export const soldAnswersOf = (output: z.ZodMiniType): Json => ({
  type: 'object',
  anyOf: [jsonSchema(output), refused, paymentRequired],
})

const paymentRequired: Json = {
  type: 'object',
  description: 'What the call costs by x402: the result has isError.',
  properties: { x402Version: { type: 'integer' }, error: { type: 'string' }, accepts: { type: 'array' } },
  required: ['x402Version', 'accepts'],
}

const refused: Json = {
  type: 'object',
  description: 'A refusal: the result has isError.',
  properties: {
    error: { type: 'string', description: 'What is wrong and what to do.' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'A stable code.' },
  },
  required: ['error', 'status', 'code'],
}

/** The JSON Schema of what a schema takes, without what clients or model providers stumble over. */
export function jsonSchema(schema: z.ZodMiniType): Json {
  const { $schema, ...shown } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    override({ jsonSchema: part }) {
      if (part.minimum === Number.MIN_SAFE_INTEGER) delete part.minimum
      if (part.maximum === Number.MAX_SAFE_INTEGER) delete part.maximum
    },
  })
  return withSingleTypes(shown)
}

/** Returns the declared arguments. Others are ignored, like unknown fields. Throws `field_invalid`. */
function checked(schema: Json, args: Arguments): Arguments {
  const declared = isObject(schema.properties) ? schema.properties : {}
  const known = Object.fromEntries(Object.entries(args).filter(([name]) => Object.hasOwn(declared, name)))
  try {
    checkArguments(schema, known)
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause
    const { argument, reason } = cause.fields
    const detail = argument === null ? String(reason) : `"${argument}": ${reason}`
    throw problem('field_invalid', { detail, fields: argument === null ? {} : { field: argument }, cause })
  }
  return known
}

/** Arguments that several tools have, with descriptions for agents. */

const described = <S extends z.ZodMiniType>(schema: S, words: string): S => schema.check(z.describe(words))
export const text = (words: string) => described(z.string(), words)
export const amount = (words: string) => described(z.number().check(z.minimum(0)), words)
export const count = (words: string, { least = 1, most }: { least?: number; most?: number } = {}) =>
  described(z.int().check(z.minimum(least), z.maximum(most ?? Number.MAX_SAFE_INTEGER)), words)

export const itemId = count('The id of the item, from catalog_search.')
export const itemArguments = described(
  z.record(z.string(), z.unknown()),
  "Arguments that match the item's service_schema. Leave them out if it needs none.",
)
export const approvalId = text('The id of an approval for exactly this call, from request_approval. Each works once.')
export const limit = count('The most to return. Default 20.', { most: 100 })
