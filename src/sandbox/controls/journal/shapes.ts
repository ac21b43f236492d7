import { component, z } from '../../../http/fields/schema.js'

const MessageShape = component('JournalMessage', {
  headers: z.record(z.string(), z.string()),
  body: z.nullable(z.string()),
  cut: z.optional(z.literal(true)),
})

export const EntryShape = component('JournalEntry', {
  id: z.TextId,
  at: z.IsoTime,
  ms: z.nullable(z.number()),
  origin: z.enum(['http', 'in_process', 'worker', 'msw', 'timer', 'delivery', 'page', 'mcp']),
  operation_id: z.nullable(z.string()),
  method: z.string(),
  path: z.string(),
  status: z.nullable(z.int()),
  code: z.optional(z.string()),
  principal: z.nullable(z.string()),
  client_address: z.optional(z.string()),
  request: MessageShape,
  response: MessageShape,
  storage: z.object({ transactions: z.int(), reads: z.int(), writes: z.int(), retries: z.int() }),
  caused: z.array(
    z.object({
      kind: z.enum(['movement', 'event', 'mail', 'push', 'card', 'upstream', 'webhook', 'timer', 'entry']),
      id: z.union([z.string(), z.number()]),
    }),
  ),
  caused_by: z.optional(z.TextId),
  trace: z.optional(z.TextId),
  fault: z.optional(z.string()),
})

const ExampleCallShape = component('ExampleCall', {
  method: z.string(),
  path: z.string(),
  as: z.optional(z.string()),
  headers: z.optional(z.record(z.string(), z.string())),
  body: z.optional(z.unknown()),
})

export const ExplanationShape = component('Explanation', {
  entry: EntryShape,
  verdict: z.string(),
  sentences: z.array(z.string()),
  facts: z.record(z.string(), z.unknown()),
  fix: z.nullable(
    z.object({
      operation_id: z.string(),
      example: ExampleCallShape,
      between: z.optional(ExampleCallShape),
      next: z.nullable(ExampleCallShape),
    }),
  ),
  docs: z.string(),
})

export const RequestPath = z.object({ id: z.TextId })
