import { annotationsOf, type Hints, type Json, jsonSchema } from '../../agents/mcp/tools/tool.js'
import { once } from '../../base/memo.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import type { z } from '../../http/fields/schema.js'

export interface SandboxToolAnswer {
  /** A few lines for clients that show their model only text. They name every value that it needs. */
  readonly lines: readonly string[]
  readonly structured: object
}

export interface SandboxTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: Json
  readonly annotations: Json
  /** Throws `field_invalid`, which names the argument, and what the control throws. */
  call(args: unknown, service: ServiceContext): Promise<SandboxToolAnswer>
}

/** The lines of a list, or what says that it is empty. */
export const orNone = (lines: readonly string[], none: string): readonly string[] => (lines.length > 0 ? lines : [none])

/** Declares a tool. The schema types its arguments, and refuses unknown ones, because a misspelled one would do nothing. */
export function sandboxTool<I extends z.ZodMiniType>({
  input,
  hints = {},
  call,
  ...words
}: Pick<SandboxTool, 'name' | 'title' | 'description'> & {
  readonly input: I
  readonly hints?: Hints
  call(args: z.output<I>, service: ServiceContext): Promise<SandboxToolAnswer>
}): SandboxTool {
  const schema = once(() => jsonSchema(input))
  return {
    ...words,
    get inputSchema() {
      return schema()
    },
    annotations: annotationsOf(words.title, hints),
    call: async (args, service) => call(checkShape(input, args), service),
  }
}
