import { type Problem, problem } from '../../base/problem.js'
import { isObject } from '../../storage/unknown.js'
import type { Effort } from './effort.js'
import type { CompiledSchema } from './estimate.js'
import { compilePattern, PATTERN, type Pattern, PatternFault } from './pattern.js'

/** A JSON Schema (draft 2020-12) of type object, as a seller sent it. */
export type SellerSchema = Readonly<Record<string, unknown>>

/** Schemas that may apply at most, those referred to counted each time, and how deep they may lie in one another. */
const SCHEMAS = 2000
const DEPTH = 64
/** Of all patterns together. */
const PATTERN_STEPS = 600

/** Throws `field_invalid`. */
export const schemaRefused = (what: string): Problem =>
  problem('field_invalid', { detail: `"service_schema" ${what}.`, fields: { field: 'service_schema' } })

type Check = (value: unknown) => boolean

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number'
const isCount: Check = (value) => isNumber(value) && Number.isSafeInteger(value) && value >= 0
const isFullList = (value: unknown): value is unknown[] => Array.isArray(value) && value.length > 0
const isListOf = (check: Check) => (value: unknown) => Array.isArray(value) && value.every(check)
const types = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']
const isType: Check = (value) => isText(value) && types.includes(value)

/** Keywords that hold no schemas, and what they may hold. */
const plain = new Map<string, Check>(
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

/** What a validator does with a schema before it is applied. */
const SCHEMA_STEPS = 10

/** Makes of a seller's schema one that is safe to apply: of known keywords alone, and bounded in size and depth. */
export class SchemaCompiler {
  readonly #root: SellerSchema
  readonly #patterns = new Map<string, Pattern>()
  #schemas = 0
  readonly #effort: Effort
  #patternSteps = 0

  /** What it takes to compile and to run patterns is spent of the effort. */
  constructor(root: SellerSchema, effort: Effort) {
    this.#root = root
    this.#effort = effort
  }

  /** Throws `field_invalid`, and `EffortExceeded`. */
  compile(): { compiled: CompiledSchema; patterns: ReadonlyMap<string, Pattern> } {
    const { $schema, $id, ...root } = this.#root
    if ($schema !== undefined && !/^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(String($schema)))
      throw schemaRefused('must be of draft 2020-12')
    const compiled = this.#object(root, { at: '#', within: [], depth: 0 })
    return { compiled, patterns: this.#patterns }
  }

  #schema(schema: unknown, place: Place): unknown {
    if (isObject(schema)) return this.#object(schema, place)
    this.#count(place)
    if (typeof schema === 'boolean') return schema
    throw schemaRefused(`holds something at ${place.at} that is no schema`)
  }

  #count(place: Place): void {
    if (++this.#schemas > SCHEMAS)
      throw schemaRefused(`comes to more than ${SCHEMAS} schemas, references counted each time`)
    if (place.depth > DEPTH) throw schemaRefused(`nests deeper than ${DEPTH} schemas, references followed`)
    // Places of schemas are written out, so long names count.
    this.#effort.spend(SCHEMA_STEPS + (place.at.length >> 5))
  }

  #object(schema: SellerSchema, place: Place): CompiledSchema {
    this.#count(place)
    const compiled: [string, unknown][] = []
    const also: unknown[] = []
    for (const [keyword, value] of Object.entries(schema)) {
      const at = `${place.at}/${keyword}`
      const below = { ...place, at, depth: place.depth + 1 }
      if (notTaken.has(keyword)) throw schemaRefused(`holds "${keyword}" at ${place.at}, which is not taken here`)
      if (keyword === 'pattern') also.push({ format: this.#pattern(value, at) })
      else if (keyword === '$ref') compiled.push([keyword, this.#reference(value, below)])
      else if (keyword === 'format' && isText(value) && checkedFormats.has(value)) compiled.push([keyword, value])
      else if (ofOne.has(keyword) || ofList.has(keyword) || ofMap.has(keyword))
        compiled.push([keyword, this.#held(keyword, value, below)])
      else {
        const check = plain.get(keyword)
        if (check) compiled.push([keyword, checked(check, value, at)])
      }
    }
    const own: CompiledSchema = Object.fromEntries(compiled)
    return also.length === 0 ? own : { ...own, allOf: [...(Array.isArray(own.allOf) ? own.allOf : []), ...also] }
  }

  #held(keyword: string, value: unknown, place: Place): unknown {
    if (ofOne.has(keyword)) return this.#schema(value, place)
    if (ofList.has(keyword)) {
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

  /** What is referred to is counted again here, as it is applied again here. */
  #reference(value: unknown, { at, within, depth }: Place): string {
    const reference = isText(value) ? value : ''
    const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([\w.-]+)$/.exec(reference) ?? []
    const definitions = this.#root[keyword]
    if (!isObject(definitions) || !Object.hasOwn(definitions, name))
      throw schemaRefused(`refers at ${at} to what is not in its own $defs: write "#/$defs/NAME"`)
    const target = `${keyword}/${name}`
    if (within.includes(target)) throw schemaRefused(`refers to itself at ${at}`)
    this.#schema(definitions[name], { at: `#/${target}`, within: [...within, target], depth })
    return reference
  }

  /** Gives the name that it has among the formats. */
  #pattern(value: unknown, at: string): string {
    const source = checked(isText, value, at)
    try {
      const pattern = this.#patterns.get(PATTERN + source) ?? compilePattern(source, PATTERN_STEPS, this.#effort)
      this.#patternSteps += pattern.size
      if (this.#patternSteps > PATTERN_STEPS) throw new PatternFault('is, with the others, of too many steps')
      this.#patterns.set(PATTERN + source, pattern)
      return PATTERN + source
    } catch (cause) {
      if (cause instanceof PatternFault) throw schemaRefused(`holds a pattern at ${at} that ${cause.message}`)
      throw cause
    }
  }
}

interface Place {
  readonly at: string
  /** The definitions that are being followed. */
  readonly within: readonly string[]
  readonly depth: number
}

function checked<T>(check: (value: unknown) => value is T, value: unknown, at: string): T
function checked(check: Check, value: unknown, at: string): unknown
function checked(check: Check, value: unknown, at: string): unknown {
  if (check(value)) return value
  throw schemaRefused(`holds something at ${at} that cannot be there`)
}
