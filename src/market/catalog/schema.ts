import { format as formats, validate } from '@cfworker/json-schema'
import { Problem, problem, problemSentence } from '../../base/problem.js'
import { isObject } from '../../storage/unknown.js'
import { Effort, EffortExceeded, isDeeperThan, MAX_STEPS, PATTERN } from './pattern.js'
import { SchemaCompiler, type SellerSchema, schemaRefused, spendEstimate } from './schema-compiler.js'

export type { SellerSchema }

export type Arguments = Readonly<Record<string, unknown>>

const MAX_BYTES = 65_536
const MAX_DEPTH = 40

/** Throws `field_invalid` unless this is a schema of type object whose arguments are quick to check. */
export function checkSchema(schema: SellerSchema): void {
  if (isDeeperThan(schema, MAX_DEPTH)) throw schemaRefused(`is nested deeper than ${MAX_DEPTH} levels`)
  if (bytesIn(schema) > MAX_BYTES) throw schemaRefused(`must have at most ${MAX_BYTES} bytes as JSON`)
  if (schema.type !== 'object') throw schemaRefused('must be of type "object"')
  try {
    new SchemaCompiler(schema, new Effort()).compile()
  } catch (error) {
    if (error instanceof EffortExceeded) throw schemaRefused('takes too many steps to read: make it smaller')
    throw error
  }
}

const bytesIn = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length

export function requiredInputs(schema: SellerSchema): string[] {
  return requiredIn(schema).filter((name) => Object.hasOwn(declaredIn(schema), name))
}

const declaredIn = (schema: SellerSchema): object => (isObject(schema.properties) ? schema.properties : {})

const requiredIn = ({ required }: SellerSchema): readonly string[] =>
  Array.isArray(required) ? required.map(String) : []

/**
 * Throws `arguments_refused` for arguments that do not match the schema, naming the first such argument, or that take
 * too many steps to check. Throws `schema_refused` if an older row has a schema that is no longer accepted.
 */
export function checkArguments(schema: SellerSchema, args: Arguments, effort = new Effort()): void {
  if (isDeeperThan(args, MAX_DEPTH)) throw argumentsRefused(null, `They are nested deeper than ${MAX_DEPTH} levels.`)
  if (bytesIn(args) > MAX_BYTES) throw argumentsRefused(null, `They take at most ${MAX_BYTES} bytes as JSON.`)
  for (const name of Object.keys(args))
    if (!Object.hasOwn(declaredIn(schema), name))
      throw argumentsRefused(name, 'The item does not declare this argument.')
  for (const name of requiredIn(schema)) if (!Object.hasOwn(args, name)) throw argumentsRefused(name, 'It is missing.')
  const fault = findFault(schema, args, effort)
  if (fault) throw argumentsRefused(fault.argument, fault.reason)
}

/** `argument`: its path, such as `address/city`, or null for all arguments. */
export const argumentsRefused = (argument: string | null, reason: string): Problem =>
  problem('arguments_refused', {
    detail: argument === null ? reason : `"${argument}": ${reason}`,
    fields: { argument, reason },
  })

function findFault(schema: SellerSchema, args: Arguments, effort: Effort) {
  const { compiled, patterns } = compiledOf(schema, effort)
  // The validator would run patterns with the runtime's own expressions, which can take exponential time.
  for (const [name, pattern] of patterns) formats[name] = (text: string) => pattern.test(text)
  try {
    spendEstimate(compiled, args, effort)
    const { errors } = validate(args, compiled, '2020-12')
    const last = errors.at(-1)
    return (
      last && { argument: argumentAt(last.instanceLocation), reason: last.error.replace(`format "${PATTERN}`, '"') }
    )
  } catch (error) {
    if (error instanceof EffortExceeded) return { argument: null, reason: TOO_MANY_STEPS }
    throw error
  } finally {
    for (const name of patterns.keys()) delete formats[name]
  }
}

const TOO_MANY_STEPS = `They take more than ${MAX_STEPS} steps to check. Send fewer or shorter ones.`

/** Throws `schema_refused`: a schema that cannot be checked is the seller's fault. */
function compiledOf(schema: SellerSchema, effort: Effort): ReturnType<SchemaCompiler['compile']> {
  try {
    if (isDeeperThan(schema, MAX_DEPTH)) throw schemaRefused(`is nested deeper than ${MAX_DEPTH} levels`)
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
