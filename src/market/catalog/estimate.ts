import { isObject } from '../../storage/unknown.js'
import type { Effort } from './effort.js'
import { PATTERN } from './pattern.js'

/** A schema as `SchemaCompiler` returns it. */
export type CompiledSchema = Readonly<Record<string, unknown>>

/** Steps for applying any schema to a value. */
const APPLICATION = 6

const NOTHING = {}
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : NOTHING)

/**
 * Spends the most steps that a validator can need for a schema and arguments. It visits everything that the validator
 * visits, and assumes that nothing ends early. Patterns spend their own steps when they run. Throws `EffortExceeded`.
 */
export function spendEstimate(root: CompiledSchema, args: unknown, effort: Effort): void {
  new Estimate(root, effort).apply(root, args, 1)
}

class Estimate {
  readonly #root: CompiledSchema
  readonly #effort: Effort
  /** Steps that each schema takes for any value. */
  readonly #fixed = new Map<CompiledSchema, number>()

  constructor(root: CompiledSchema, effort: Effort) {
    this.#root = root
    this.#effort = effort
  }

  /** `depth`: how many schemas pass an error, or a list of what was evaluated, to their parents. */
  apply(schema: unknown, value: unknown, depth: number): void {
    this.#effort.spend(APPLICATION + depth)
    if (!isObject(schema)) return
    this.#effort.spend(this.#fixedOf(schema))
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
    if (typeof format === 'string' && !format.startsWith(PATTERN)) this.#effort.spend(text.length >> 3)
    if (minLength !== undefined || maxLength !== undefined) this.#effort.spend(text.length >> 6)
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
    this.#effort.spend(isPlain ? pairs >> 5 : (pairs >> 1) + list.length * (JSON.stringify(list).length >> 6))
  }

  #object(schema: CompiledSchema, value: Readonly<Record<string, unknown>>, depth: number): void {
    const { properties, propertyNames, additionalProperties, unevaluatedProperties, dependentSchemas } = schema
    const keys = Object.keys(value)
    this.#effort.spend(keys.length)
    const declared = fieldsOf(properties)
    for (const key of keys) {
      this.#effort.spend(key.length >> 4)
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
    if (choices !== undefined) this.#effort.spend(JSON.stringify(choices).length >> 4)
    if (only !== undefined) this.#effort.spend(JSON.stringify(only).length >> 4)
  }

  #definition(reference: string): unknown {
    const [, keyword = '', name = ''] = reference.split('/')
    return fieldsOf(this.#root[keyword])[name]
  }

  #fixedOf(schema: CompiledSchema): number {
    const known = this.#fixed.get(schema)
    if (known !== undefined) return known
    const { enum: choices, const: only, required, dependentRequired, multipleOf, properties, dependentSchemas } = schema
    // An error message quotes the allowed values.
    const written = [choices, only].map((each) => (each === undefined ? 0 : JSON.stringify(each).length >> 6))
    const lists = [required, ...Object.values(fieldsOf(dependentRequired))]
    const maps = [properties, dependentRequired, dependentSchemas].map((each) => Object.keys(fieldsOf(each)).length)
    const fixed =
      sum(written) +
      2 * sum(lists.map((each) => listOf(each).length)) +
      3 * sum(maps) +
      (multipleOf === undefined ? 0 : 25)
    this.#effort.spend(fixed)
    this.#fixed.set(schema, fixed)
    return fixed
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
