import { component, z } from '../../http/fields/schema.js'

export const JsonRpcMessageShape = component('JsonRpcMessage', {
  jsonrpc: z.enum(['2.0']),
  id: z.optional(z.nullable(z.union([z.string(), z.number()]))),
  method: z.optional(z.string()),
  params: z.optional(z.record(z.string(), z.unknown())),
  result: z.optional(z.record(z.string(), z.unknown())),
  error: z.optional(z.record(z.string(), z.unknown())),
})
