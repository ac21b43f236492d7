import { fieldRefused } from '../../http/fields/field.js'
import type { Arguments } from '../../market/catalog/schema.js'
import { isObject } from '../../storage/unknown.js'

/**
 * The arguments in a query, as the item's schema types them: numbers, booleans, and lists of what is given more than once.
 * JSON stands for objects. Throws `field_invalid`.
 */
export function argumentsInQuery(query: URLSearchParams, schema: Readonly<Record<string, unknown>>): Arguments {
  const declared = isObject(schema.properties) ? schema.properties : {}
  const names = [...new Set(query.keys())]
  return Object.fromEntries(names.map((name) => [name, argumentIn(name, query.getAll(name), declared[name])]))
}

function argumentIn(name: string, texts: readonly string[], declared: unknown): unknown {
  const [first = ''] = texts
  const { type, items } = isObject(declared) ? declared : {}
  if (isOf(type, 'array') && !first.startsWith('[')) {
    const each = isObject(items) ? items.type : undefined
    return texts.map((text) => readText(text, each))
  }
  if (texts.length > 1) throw fieldRefused(name, 'is given more than once')
  return readText(first, type)
}

/** What the schema refuses stays text, so that the refusal names it as it came. */
function readText(text: string, type: unknown): unknown {
  if (isOf(type, 'string')) return text
  if ((isOf(type, 'number') || isOf(type, 'integer')) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return Number(text)
  if (isOf(type, 'boolean') && /^(true|false)$/.test(text)) return text === 'true'
  if (isOf(type, 'null') && text === 'null') return null
  return isOf(type, 'object') || isOf(type, 'array') ? parsed(text) : text
}

const isOf = (type: unknown, name: string): boolean => (Array.isArray(type) ? type.includes(name) : type === name)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
