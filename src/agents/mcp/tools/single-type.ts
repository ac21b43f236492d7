import { isObject } from '../../../storage/unknown.js'
import type { Json } from './tool.js'

/**
 * Replaces a list of types among the keywords of a schema by `anyOf`, which accepts the same. Many clients hand schemas
 * on to model providers that refuse lists of types.
 */
export function withSingleType(schema: Json): Json {
  const { type, ...rest } = schema
  if (!Array.isArray(type)) return schema
  if (type.length === 1) return { type: type[0], ...rest }
  const anyOf = type.map((each) => ({ type: each }))
  if (!('anyOf' in rest)) return { anyOf, ...rest }
  return { ...rest, allOf: [...(Array.isArray(rest.allOf) ? rest.allOf : []), { anyOf }] }
}

/**
 * Does this in every part of a schema of our own, none of which has a value that looks like a schema. Leaves out what
 * every JSON object matches, which checkers of schemas report.
 */
export const withSingleTypes = (schema: Json): Json =>
  withSingleType(
    Object.fromEntries(
      Object.entries(schema)
        .filter(([keyword, value]) => !isAlwaysTrue(keyword, value))
        .map(([keyword, value]) => [keyword, partOf(value)]),
    ),
  )

function isAlwaysTrue(keyword: string, value: unknown): boolean {
  if (!isObject(value)) return false
  const keywords = Object.entries(value)
  if (keyword === 'additionalProperties') return keywords.length === 0
  return keyword === 'propertyNames' && keywords.length === 1 && value.type === 'string'
}

function partOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(partOf)
  return isObject(value) ? withSingleTypes({ ...value }) : value
}
