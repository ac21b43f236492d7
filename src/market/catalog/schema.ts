import { format as formats, validate } from '@cfworker/json-schema'
import { Problem, problem, problemSentence } from '../../base/problem.js'
import { isObject } from '../../storage/unknown.js'
import { Effort, EffortExceeded, isDeeper, MOST_STEPS } from './effort.js'
import { spendEstimate } from './estimate.js'
import { PATTERN } from './pattern.js'
import { SchemaCompiler, type SellerSchema, schemaRefused } from './schema-compiler.js'

export type { SellerSchema }

export type Arguments = Readonly<Record<string, unknown>>

/** The largest schema, and the largest arguments, in bytes of JSON. */
const BYTES = 65_536

/** How deep a schema, and arguments, may be nested. */
const DEPTH = 40

/** Throws `field_invalid` for what is no schema of type object, or one whose arguments could take long to check. */
export function checkSchema(schema: SellerSchema): void {
  if (isDeeper(schema, DEPTH)) throw schemaRefused(`is nested deeper than ${DEPTH} levels`)
  if (bytesIn(schema) > BYTES) throw schemaRefused(`takes at most ${BYTES} bytes as JSON`)
  if (schema.type !== 'object') throw schemaRefused('must be of type "object"')
  try {
    new SchemaCompiler(schema, new Effort()).compile()
  } catch (error) {
    if (error instanceof EffortExceeded) throw schemaRefused('takes too many steps to read: make it smaller')
    throw error
  }
}

const bytesIn = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length

/** The names of the inputs that a schema requires and declares. */
export function requiredInputs(schema: SellerSchema): string[] {
  return requiredIn(schema).filter((name) => Object.hasOwn(declaredIn(schema), name))
}

const declaredIn = (schema: SellerSchema): object => (isObject(schema.properties) ? schema.properties : {})

const requiredIn = ({ required }: SellerSchema): readonly string[] =>
  Array.isArray(required) ? required.map(String) : []

/**
 * Throws `arguments_refused`, which names the first that is not as the schema says, or not declared by it, and for arguments that take too many
 * steps to check; `schema_refused` for a schema of an older row that is not taken any more.
 */
export function checkArguments(schema: SellerSchema, args: Arguments, effort = new Effort()): void {
  if (isDeeper(args, DEPTH)) throw argumentsRefused(null, `They are nested deeper than ${DEPTH} levels.`)
  if (bytesIn(args) > BYTES) throw argumentsRefused(null, `They take at most ${BYTES} bytes as JSON.`)
  for (const name of Object.keys(args))
    if (!Object.hasOwn(declaredIn(schema), name)) throw argumentsRefused(name, 'The item declares no such argument.')
  for (const name of requiredIn(schema)) if (!Object.hasOwn(args, name)) throw argumentsRefused(name, 'It is missing.')
  const fault = faultIn(schema, args, effort)
  if (fault) throw argumentsRefused(fault.argument, fault.reason)
}

/** `argument`: which, with the way into it: `address/city`; null for all of them. */
export const argumentsRefused = (argument: string | null, reason: string): Problem =>
  problem('arguments_refused', {
    detail: argument === null ? reason : `"${argument}": ${reason}`,
    fields: { argument, reason },
  })

function faultIn(
  schema: SellerSchema,
  args: Arguments,
  effort: Effort,
): { argument: string | null; reason: string } | undefined {
  const { compiled, patterns } = compiledOf(schema, effort)
  // The validator would run the patterns by the runtime's own expressions, which can take for ever.
  for (const [name, pattern] of patterns) formats[name] = (text: string) => pattern.test(text)
  try {
    spendEstimate(compiled, args, effort)
    const { errors } = validate(args, compiled, '2020-12')
    const last = errors.at(-1)
    return (
      last && { argument: argumentAt(last.instanceLocation), reason: last.error.replace(`format "${PATTERN}`, '"') }
    )
  } catch (error) {
    if (error instanceof EffortExceeded) return { argument: null, reason: TOO_MUCH }
    throw error
  } finally {
    for (const name of patterns.keys()) delete formats[name]
  }
}

const TOO_MUCH = `They take more than ${MOST_STEPS} steps to check. Send fewer or shorter ones.`

/** Throws `schema_refused`: that the schema cannot be checked is its seller's fault. */
function compiledOf(schema: SellerSchema, effort: Effort): ReturnType<SchemaCompiler['compile']> {
  try {
    if (isDeeper(schema, DEPTH)) throw schemaRefused(`is nested deeper than ${DEPTH} levels`)
    return new SchemaCompiler(schema, effort).compile()
  } catch (cause) {
    if (cause instanceof EffortExceeded) throw problem('schema_refused', { cause })
    if (!(cause instanceof Problem)) throw cause
    const detail = cause.message.slice(problemSentence(cause.code).length).trim()
    throw problem('schema_refused', { detail, cause })
  }
}

const argumentAt = (location: string): string | null =>
  location
    .replace(/^#\/?/, '')
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('/') || null
