import { format as formats, validate } from '@cfworker/json-schema'
import { type Problem, problem } from '../problem.js'
import { compilePattern, type Pattern, PatternFault } from './pattern.js'

/** A JSON Schema (draft 2020-12) of type object, as a seller sent it. */
export type ServiceSchema = Readonly<Record<string, unknown>>

export type Arguments = Readonly<Record<string, unknown>>

/** The largest schema, and the largest arguments, in bytes of JSON. */
const BYTES = 65_536

/** Schemas that may apply at most, those referred to counted each time, and steps of all their patterns. */
const SCHEMAS = 2000
const STEPS = 600

/** Throws `field_invalid` for what is no schema of type object, or one whose arguments could take long to check. */
export function checkSchema(schema: ServiceSchema): void {
  if (bytesIn(schema) > BYTES) throw refused(`takes at most ${BYTES} bytes as JSON`)
  if (schema.type !== 'object') throw refused('must be of type "object"')
  new Compiler(schema).compile()
}

const refused = (what: string): Problem =>
  problem('field_invalid', { detail: `"service_schema" ${what}.`, fields: { field: 'service_schema' } })

const bytesIn = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length

/** The names of the inputs that a schema requires and declares. */
export function requiredInputs(schema: ServiceSchema): string[] {
  const required = (schema.required ?? []) as readonly string[]
  return required.filter((name) => Object.hasOwn(declaredIn(schema), name))
}

const declaredIn = (schema: ServiceSchema): object => (schema.properties ?? {}) as object

/** Throws `arguments_refused`, which names the first that is not as the schema says, or not declared by it. */
export function checkArguments(schema: ServiceSchema, args: Arguments): void {
  if (bytesIn(args) > BYTES) throw argumentsRefused(null, `They take at most ${BYTES} bytes as JSON.`)
  for (const name of Object.keys(args))
    if (!Object.hasOwn(declaredIn(schema), name)) throw argumentsRefused(name, 'The item declares no such argument.')
  for (const name of (schema.required ?? []) as readonly string[])
    if (!Object.hasOwn(args, name)) throw argumentsRefused(name, 'It is missing.')
  const fault = faultIn(schema, args)
  if (fault) throw argumentsRefused(fault.argument, fault.reason)
}

/** `argument`: which, with the way into it: `address/city`; null for all of them. */
export const argumentsRefused = (argument: string | null, reason: string): Problem =>
  problem('arguments_refused', {
    detail: argument === null ? reason : `"${argument}": ${reason}`,
    fields: { argument, reason },
  })

function faultIn(schema: ServiceSchema, args: Arguments): { argument: string | null; reason: string } | undefined {
  const { compiled, patterns } = new Compiler(schema).compile()
  // The validator would run the patterns by the runtime's own expressions, which can take for ever.
  for (const [name, pattern] of patterns) formats[name] = (text: string) => pattern.test(text)
  try {
    const { errors } = validate(args, compiled, '2020-12')
    const last = errors.at(-1)
    return (
      last && { argument: argumentAt(last.instanceLocation), reason: last.error.replace(`format "${PATTERN}`, '"') }
    )
  } finally {
    for (const name of patterns.keys()) delete formats[name]
  }
}

/** What a pattern is called among the formats begins with this. */
const PATTERN = 'pattern '

const argumentAt = (location: string): string | null =>
  location
    .replace(/^#\/?/, '')
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('/') || null

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isNumber: Check = (value) => typeof value === 'number'
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isListOf = (check: Check) => (value: unknown) => Array.isArray(value) && value.every(check)
const types = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']
const isType: Check = (value) => types.includes(value as string)

/** Keywords that hold no schemas, and what they may hold. */
const plain: Readonly<Record<string, Check>> = {
  type: (value) => isType(value) || (isListOf(isType)(value) && (value as unknown[]).length > 0),
  enum: (value) => Array.isArray(value),
  const: () => true,
  multipleOf: (value) => isNumber(value) && (value as number) > 0,
  maximum: isNumber,
  exclusiveMaximum: isNumber,
  minimum: isNumber,
  exclusiveMinimum: isNumber,
  maxLength: isCount,
  minLength: isCount,
  maxItems: isCount,
  minItems: isCount,
  uniqueItems: (value) => typeof value === 'boolean',
  maxContains: isCount,
  minContains: isCount,
  maxProperties: isCount,
  minProperties: isCount,
  required: isListOf(isText),
  dependentRequired: (value) => isObject(value) && Object.values(value).every(isListOf(isText)),
}

const ofOne = new Set(
  'items contains additionalProperties propertyNames not if then else unevaluatedItems unevaluatedProperties'.split(
    ' ',
  ),
)
const ofList = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const ofMap = new Set(['properties', 'dependentSchemas', '$defs', 'definitions'])
const notTaken = new Set(
  '$id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary patternProperties'.split(' '),
)
/** Those of the validator that take a time that is in proportion to the text; others are for people to read. */
const checkedFormats = new Set(
  'date time date-time duration email hostname ipv4 ipv6 uri uri-reference uuid json-pointer'.split(' '),
)

/** Makes of a seller's schema one that is safe to apply: of known keywords alone, and bounded in the work it can take. */
class Compiler {
  readonly #root: ServiceSchema
  readonly #patterns = new Map<string, Pattern>()
  #schemas = 0
  #steps = 0

  constructor(root: ServiceSchema) {
    this.#root = root
  }

  compile(): { compiled: Record<string, unknown>; patterns: ReadonlyMap<string, Pattern> } {
    const { $schema, $id, ...root } = this.#root
    if ($schema !== undefined && !/^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(String($schema)))
      throw refused('must be of draft 2020-12')
    const compiled = this.#schema(root, { at: '#', within: [] }) as Record<string, unknown>
    return { compiled, patterns: this.#patterns }
  }

  #schema(schema: unknown, place: Place): unknown {
    if (++this.#schemas > SCHEMAS) throw refused(`comes to more than ${SCHEMAS} schemas, references counted each time`)
    if (typeof schema === 'boolean') return schema
    if (!isObject(schema)) throw refused(`holds something at ${place.at} that is no schema`)
    const compiled: [string, unknown][] = []
    const also: unknown[] = []
    for (const [keyword, value] of Object.entries(schema)) {
      const at = `${place.at}/${keyword}`
      if (notTaken.has(keyword)) throw refused(`holds "${keyword}" at ${place.at}, which is not taken here`)
      if (keyword === 'pattern') also.push({ format: this.#pattern(value, at) })
      else if (keyword === '$ref') compiled.push([keyword, this.#reference(value, { ...place, at })])
      else if (keyword === 'format' && checkedFormats.has(value as string)) compiled.push([keyword, value])
      else if (ofOne.has(keyword) || ofList.has(keyword) || ofMap.has(keyword))
        compiled.push([keyword, this.#held(keyword, value, { ...place, at })])
      else if (Object.hasOwn(plain, keyword)) compiled.push([keyword, checked(plain[keyword] as Check, value, at)])
    }
    const own = Object.fromEntries(compiled) as Record<string, unknown>
    return also.length === 0 ? own : { ...own, allOf: [...((own.allOf ?? []) as unknown[]), ...also] }
  }

  #held(keyword: string, value: unknown, place: Place): unknown {
    if (ofOne.has(keyword)) return this.#schema(value, place)
    if (ofList.has(keyword)) {
      const list = checked((each) => Array.isArray(each) && each.length > 0, value, place.at) as unknown[]
      return list.map((each, n) => this.#schema(each, { ...place, at: `${place.at}/${n}` }))
    }
    const map = checked(isObject, value, place.at) as Record<string, unknown>
    const entries = Object.entries(map).map(([name, each]) => [
      name,
      this.#schema(each, { ...place, at: `${place.at}/${name}` }),
    ])
    return Object.fromEntries(entries)
  }

  /** What is referred to is counted again here, as it is applied again here. */
  #reference(value: unknown, { at, within }: Place): string {
    const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([\w.-]+)$/.exec(String(value)) ?? []
    const definitions = this.#root[keyword]
    if (!isObject(definitions) || !Object.hasOwn(definitions, name))
      throw refused(`refers at ${at} to what is not in its own $defs: write "#/$defs/NAME"`)
    const target = `${keyword}/${name}`
    if (within.includes(target)) throw refused(`refers to itself at ${at}`)
    this.#schema(definitions[name], { at: `#/${target}`, within: [...within, target] })
    return value as string
  }

  /** Gives the name that it has among the formats. */
  #pattern(value: unknown, at: string): string {
    const source = checked(isText, value, at) as string
    try {
      const pattern = compilePattern(source, STEPS)
      this.#steps += pattern.size
      if (this.#steps > STEPS) throw new PatternFault('is, with the others, of too many steps')
      this.#patterns.set(PATTERN + source, pattern)
      return PATTERN + source
    } catch (cause) {
      if (cause instanceof PatternFault) throw refused(`holds a pattern at ${at} that ${cause.message}`)
      throw cause
    }
  }
}

interface Place {
  readonly at: string
  /** The definitions that are being followed. */
  readonly within: readonly string[]
}

function checked(check: Check, value: unknown, at: string): unknown {
  if (check(value)) return value
  throw refused(`holds something at ${at} that cannot be there`)
}
