import type { CatalogItemRow } from '../../../market/catalog/item-row.js'
import { type Fields, isFields } from './refused-request.js'

type Schema = Pick<CatalogItemRow, 'service_schema'>['service_schema']

/** The declared arguments of an item, by name. */
export const declaredArguments = ({ properties }: Schema): Fields => (isFields(properties) ? properties : {})

export const requiredArguments = ({ required }: Schema): string[] =>
  Array.isArray(required) ? required.map(String) : []

/** Arguments that fit an item as far as the types say: what was given and fits, and a sample for what is required. */
export function fittingArguments(schema: Schema, given: Fields, refused?: string): Fields {
  const declared = declaredArguments(schema)
  const fits = (name: string) => name in given && name !== refused && isOfType(given[name], declared[name])
  const names = Object.keys(declared).filter((name) => fits(name) || requiredArguments(schema).includes(name))
  return Object.fromEntries(names.map((name) => [name, fits(name) ? given[name] : sampleOf(declared[name])]))
}

const samples: Readonly<Record<string, unknown>> = { number: 1, integer: 1, boolean: true, array: [], object: {} }

/** A value that fits the schema of one argument, as far as its type says. */
function sampleOf(schema: unknown): unknown {
  if (!isFields(schema)) return 'text'
  if (Array.isArray(schema.enum)) return schema.enum[0]
  return 'default' in schema ? schema.default : (samples[String(schema.type)] ?? 'text')
}

function isOfType(value: unknown, schema: unknown): boolean {
  switch (isFields(schema) ? schema.type : undefined) {
    case 'string':
      return typeof value === 'string'
    case 'integer':
      return Number.isInteger(value)
    case 'number':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    default:
      return true
  }
}
