import { format as formats, validate } from '@cfworker/json-schema'
import { Problem, problem, problemSentence } from '../../base/problem.js'
import { fieldRefused } from '../../http/fields/field.js'
import { isObject } from '../../storage/unknown.js'
import {
  compilePattern,
  Effort,
  EffortExceeded,
  isDeeperThan,
  MAX_STEPS,
  PATTERN,
  type Pattern,
  PatternFault,
} from './pattern.js'

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

/** Throws `arguments_refused` for the first argument that does not match, `schema_refused` for an older, now refused schema. */
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

/** A JSON Schema (draft 2020-12) of type object, as a seller sent it. */
export type SellerSchema = Readonly<Record<string, unknown>>

/** The most schemas that may apply, counting a referenced schema each time, and how deep they may nest. */
const MAX_SCHEMAS = 2000
const MAX_SCHEMA_DEPTH = 64
const MAX_PATTERN_STEPS = 600

/** Throws `field_invalid`. */
const schemaRefused = (what: string): Problem => fieldRefused('service_schema', what)
type Check = (value: unknown) => boolean
const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number'
const isCount: Check = (value) => isNumber(value) && Number.isSafeInteger(value) && value >= 0
const isFullList = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > 0
const isListOf = (check: Check) => (value: unknown) => Array.isArray(value) && value.every(check)
const types = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']
const isType: Check = (value) => isText(value) && types.includes(value)

const valueChecks = new Map<string, Check>(
  Object.entries({
    type: (value) => isType(value) || (isFullList(value) && value.every(isType)),
    enum: (value) => Array.isArray(value),
    const: () => true,
    multipleOf: (value) => isNumber(value) && value > 0,
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
  }),
)

const schemaKeywords = new Set(
  'items contains additionalProperties propertyNames not if then else unevaluatedItems unevaluatedProperties'.split(
    ' ',
  ),
)
const schemaListKeywords = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const schemaMapKeywords = new Set(['properties', 'dependentSchemas', '$defs', 'definitions'])
const unsupportedKeywords = new Set(
  '$id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary patternProperties'.split(' '),
)
/** Formats that the validator checks in time proportional to the text. All others are only documentation. */
const checkedFormats = new Set(
  'date time date-time duration email hostname ipv4 ipv6 uri uri-reference uuid json-pointer'.split(' '),
)

const SCHEMA_STEPS = 10

/** Compiles a seller's schema into one that is safe to apply: only known keywords, and bounded in size and depth. */
export class SchemaCompiler {
  readonly #patterns = new Map<string, Pattern>()
  #schemas = 0
  #patternSteps = 0

  /** Compiling, and running patterns later, spends steps of `effort`. */
  constructor(
    private readonly root: SellerSchema,
    private readonly effort: Effort,
  ) {}

  /** Throws `field_invalid`, and `EffortExceeded`. */
  compile(): { compiled: CompiledSchema; patterns: ReadonlyMap<string, Pattern> } {
    const { $schema, $id, ...root } = this.root
    if ($schema !== undefined && !/^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(String($schema)))
      throw schemaRefused('must use JSON Schema draft 2020-12')
    const compiled = this.#object(root, { at: '#', within: [], depth: 0 })
    return { compiled, patterns: this.#patterns }
  }

  #schema(schema: unknown, place: Place): unknown {
    if (isObject(schema)) return this.#object(schema, place)
    this.#count(place)
    if (typeof schema === 'boolean') return schema
    throw schemaRefused(`has a value at ${place.at} that is not a schema`)
  }

  #count(place: Place): void {
    if (++this.#schemas > MAX_SCHEMAS)
      throw schemaRefused(`has more than ${MAX_SCHEMAS} schemas, counting a referenced schema each time`)
    if (place.depth > MAX_SCHEMA_DEPTH)
      throw schemaRefused(`nests deeper than ${MAX_SCHEMA_DEPTH} schemas, following references`)
    // The validator writes out the location of each schema, so long names cost time.
    this.effort.spend(SCHEMA_STEPS + (place.at.length >> 5))
  }

  #object(schema: SellerSchema, place: Place): CompiledSchema {
    this.#count(place)
    const compiled: [string, unknown][] = []
    const also: unknown[] = []
    for (const [keyword, value] of Object.entries(schema)) {
      const at = `${place.at}/${keyword}`
      const below = { ...place, at, depth: place.depth + 1 }
      if (unsupportedKeywords.has(keyword))
        throw schemaRefused(`has "${keyword}" at ${place.at}, which farthing does not support`)
      if (keyword === 'pattern') also.push({ format: this.#pattern(value, at) })
      else if (keyword === '$ref') compiled.push([keyword, this.#reference(value, below)])
      else if (keyword === 'format' && isText(value) && checkedFormats.has(value)) compiled.push([keyword, value])
      else if (schemaKeywords.has(keyword) || schemaListKeywords.has(keyword) || schemaMapKeywords.has(keyword))
        compiled.push([keyword, this.#held(keyword, value, below)])
      else {
        const check = valueChecks.get(keyword)
        if (check) compiled.push([keyword, checked(check, value, at)])
      }
    }
    const own: CompiledSchema = Object.fromEntries(compiled)
    return also.length === 0 ? own : { ...own, allOf: [...(Array.isArray(own.allOf) ? own.allOf : []), ...also] }
  }

  #held(keyword: string, value: unknown, place: Place): unknown {
    if (schemaKeywords.has(keyword)) return this.#schema(value, place)
    if (schemaListKeywords.has(keyword)) {
      const list = checked(isFullList, value, place.at)
      return list.map((each, n) => this.#schema(each, { ...place, at: `${place.at}/${n}` }))
    }
    const map = checked(isObject, value, place.at)
    const entries = Object.entries(map).map(([name, each]) => [
      name,
      this.#schema(each, { ...place, at: `${place.at}/${name}` }),
    ])
    return Object.fromEntries(entries)
  }

  /** Counts the referenced schema again, because it applies again here. */
  #reference(value: unknown, { at, within, depth }: Place): string {
    const reference = isText(value) ? value : ''
    const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([\w.-]+)$/.exec(reference) ?? []
    const definitions = this.root[keyword]
    if (!isObject(definitions) || !Object.hasOwn(definitions, name))
      throw schemaRefused(`has a reference at ${at} that is not in its own $defs: write "#/$defs/NAME"`)
    const target = `${keyword}/${name}`
    if (within.includes(target)) throw schemaRefused(`refers to itself at ${at}`)
    this.#schema(definitions[name], { at: `#/${target}`, within: [...within, target], depth })
    return reference
  }

  /** Returns the name of the format that stands for the pattern. */
  #pattern(value: unknown, at: string): string {
    const source = checked(isText, value, at)
    try {
      const pattern = this.#patterns.get(PATTERN + source) ?? compilePattern(source, MAX_PATTERN_STEPS, this.effort)
      this.#patternSteps += pattern.size
      if (this.#patternSteps > MAX_PATTERN_STEPS) throw new PatternFault('has, with the other patterns, too many steps')
      this.#patterns.set(PATTERN + source, pattern)
      return PATTERN + source
    } catch (cause) {
      if (cause instanceof PatternFault) throw schemaRefused(`has a pattern at ${at} that ${cause.message}`)
      throw cause
    }
  }
}

interface Place {
  readonly at: string
  readonly within: readonly string[]
  readonly depth: number
}

function checked<T>(check: (value: unknown) => value is T, value: unknown, at: string): T
function checked(check: Check, value: unknown, at: string): unknown
function checked(check: Check, value: unknown, at: string): unknown {
  if (check(value)) return value
  throw schemaRefused(`has a value at ${at} that is not allowed there`)
}

type CompiledSchema = Readonly<Record<string, unknown>>
const APPLICATION = 6 // Steps for applying any schema to a value.
const NOTHING = {}
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : NOTHING)

/** Spends the most steps that a validator can need, but for patterns, which spend their own. Throws `EffortExceeded`. */
export function spendEstimate(root: CompiledSchema, args: unknown, effort: Effort): void {
  new Estimate(root, effort).apply(root, args, 1)
}

class Estimate {
  readonly #fixed = new Map<CompiledSchema, number>()

  constructor(
    private readonly root: CompiledSchema,
    private readonly effort: Effort,
  ) {}

  /** `depth`: how many schemas pass an error, or a list of what was evaluated, to their parents. */
  apply(schema: unknown, value: unknown, depth: number): void {
    this.effort.spend(APPLICATION + depth)
    if (!isObject(schema)) return
    this.effort.spend(this.#fixedOf(schema))
    const below = depth + 1
    if (typeof schema.$ref === 'string') this.apply(this.#definition(schema.$ref), value, below)
    for (const keyword of ['not', 'if', 'then', 'else'] as const)
      if (schema[keyword] !== undefined) this.apply(schema[keyword], value, below)
    for (const keyword of ['anyOf', 'allOf', 'oneOf'] as const)
      for (const each of listOf(schema[keyword])) this.apply(each, value, below)
    if (typeof value === 'string') this.#text(schema, value)
    else if (Array.isArray(value)) this.#list(schema, value, below)
    else if (isObject(value)) this.#object(schema, value, below)
    if (typeof value === 'object') this.#compare(schema)
  }

  #text({ format, minLength, maxLength }: CompiledSchema, text: string): void {
    // A pattern spends its own steps when it runs.
    if (typeof format === 'string' && !format.startsWith(PATTERN)) this.effort.spend(text.length >> 3)
    if (minLength !== undefined || maxLength !== undefined) this.effort.spend(text.length >> 6)
  }

  #list(schema: CompiledSchema, list: readonly unknown[], depth: number): void {
    const { prefixItems, items, contains, unevaluatedItems, uniqueItems } = schema
    const first = listOf(prefixItems)
    for (const [n, each] of list.entries()) {
      if (n < first.length) this.apply(first[n], each, depth)
      else if (items !== undefined) this.apply(items, each, depth)
      if (contains !== undefined) this.apply(contains, each, depth)
      if (unevaluatedItems !== undefined) this.apply(unevaluatedItems, each, depth)
    }
    if (uniqueItems !== true) return
    const pairs = list.length * list.length
    const isPlain = list.every((each) => typeof each !== 'object' || each === null)
    // The validator compares two objects part by part, as long as they are equal.
    this.effort.spend(isPlain ? pairs >> 5 : (pairs >> 1) + list.length * (JSON.stringify(list).length >> 6))
  }

  #object(schema: CompiledSchema, value: Readonly<Record<string, unknown>>, depth: number): void {
    const { properties, propertyNames, additionalProperties, unevaluatedProperties, dependentSchemas } = schema
    const keys = Object.keys(value)
    this.effort.spend(keys.length)
    const declared = fieldsOf(properties)
    for (const key of keys) {
      this.effort.spend(key.length >> 4)
      if (propertyNames !== undefined) this.apply(propertyNames, key, depth)
      if (Object.hasOwn(declared, key)) this.apply(declared[key], value[key], depth)
      else if (additionalProperties !== undefined) this.apply(additionalProperties, value[key], depth)
      if (unevaluatedProperties !== undefined) this.apply(unevaluatedProperties, value[key], depth)
    }
    for (const [key, each] of Object.entries(fieldsOf(dependentSchemas)))
      if (Object.hasOwn(value, key)) this.apply(each, value, depth)
  }

  /** The validator compares objects and lists with every allowed value. */
  #compare({ enum: choices, const: only }: CompiledSchema): void {
    if (choices !== undefined) this.effort.spend(JSON.stringify(choices).length >> 4)
    if (only !== undefined) this.effort.spend(JSON.stringify(only).length >> 4)
  }

  #definition(reference: string): unknown {
    const [, keyword = '', name = ''] = reference.split('/')
    return fieldsOf(this.root[keyword])[name]
  }

  #fixedOf(schema: CompiledSchema): number {
    const known = this.#fixed.get(schema)
    if (known !== undefined) return known
    const { enum: choices, const: only, required, dependentRequired, multipleOf, properties, dependentSchemas } = schema
    // An error message quotes the allowed values.
    const written = [choices, only].map((each) => (each === undefined ? 0 : JSON.stringify(each).length >> 6))
    const lists = [required, ...Object.values(fieldsOf(dependentRequired))]
    const maps = [properties, dependentRequired, dependentSchemas].map((each) => Object.keys(fieldsOf(each)).length)
    const named = sum(lists.map((each) => listOf(each).length))
    const fixed = sum(written) + 2 * named + 3 * sum(maps) + (multipleOf === undefined ? 0 : 25)
    this.effort.spend(fixed)
    this.#fixed.set(schema, fixed)
    return fixed
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
