import { document, nameOf, operations, type Schema } from './document.js'
import { code, prose, table } from './markdown.js'

/** Components of one operation only are shown with it. The others have a name that means something. */
export const isShared = (name: string): boolean => !/(Body|Answer|Waiting|Error)$/.test(name) && name !== 'Problem'

const schemas = document.components.schemas

/** What a schema names, itself included, in the order of its parts. */
function namesIn(schema: Schema, found = new Set<string>()): Set<string> {
  const name = nameOf(schema)
  if (name !== undefined) {
    if (found.has(name)) return found
    found.add(name)
    namesIn(schemas[name] ?? {}, found)
  }
  const { properties = {}, anyOf = [], prefixItems = [], items, additionalProperties } = schema
  const parts = [...Object.values(properties), ...anyOf, ...prefixItems, items, additionalProperties]
  for (const part of parts) if (typeof part === 'object') namesIn(part, found)
  return found
}

/** The area of each shared shape: that of the first operation with it. */
export const areaOfShape: ReadonlyMap<string, string> = (() => {
  const areas = new Map<string, string>()
  for (const { operation } of operations) {
    const { parameters, requestBody, responses, tags } = operation
    const bodies = [requestBody, ...Object.values(responses)].flatMap((part) => Object.values(part?.content ?? {}))
    for (const { schema } of [...parameters, ...bodies])
      for (const name of namesIn(schema)) if (isShared(name) && !areas.has(name)) areas.set(name, tags[0])
  }
  return areas
})()

export interface ShapeOf {
  /** A link to a shared shape. */
  readonly link: (name: string) => string
  /** The grade of what the fields belong to. A field shows its own only if it differs. */
  readonly grade: string
}

/** The type of a field, in words and links. */
export function typeOf(schema: Schema, shape: ShapeOf): string {
  const name = nameOf(schema)
  if (name !== undefined) return isShared(name) ? shape.link(name) : typeOf(schemas[name] ?? {}, shape)
  const { type, anyOf, items, prefixItems, additionalProperties, enum: values } = schema
  if (values) return values.map((value) => code(JSON.stringify(value))).join(', ')
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (anyOf) return [...new Set(anyOf.map((part) => typeOf(part, shape)))].join(' or ')
  if (prefixItems) return `list of ${prefixItems.map((part) => typeOf(part, shape)).join(' and ')}`
  if (items) return `list of ${typeOf(items, shape)}${limitsOf(schema)}`
  if (typeof additionalProperties === 'object') return `object of ${typeOf(additionalProperties, shape)}`
  const types = (Array.isArray(type) ? type : [type ?? 'any']) as readonly string[]
  return `${types.join(' or ')}${limitsOf(schema)}`
}

function limitsOf({ minimum, maximum, minLength, maxLength, maxItems }: Schema): string {
  if (minimum !== undefined || maximum !== undefined)
    return ` ${minimum === undefined ? '' : `from ${minimum}`}${maximum === undefined ? '' : ` to ${maximum}`}`.trimEnd()
  if (maxLength !== undefined) return ` of ${minLength ? `${minLength} to` : 'at most'} ${maxLength} characters`
  return maxItems === undefined ? '' : `, at most ${maxItems}`
}

/** A row for each field of a schema, and for those of the objects inside. */
export function fieldRows(schema: Schema, shape: ShapeOf, path = ''): string[][] {
  const name = nameOf(schema)
  const { properties = {}, required = [] } = name === undefined ? schema : (schemas[name] ?? {})
  return Object.entries(properties).flatMap(([field, own]) => {
    const full = `${path}${field}`
    const isOptional = !required.includes(field)
    const row = fieldRow(full, own, { ...shape, isOptional })
    const inside = own.properties ? own : own.items?.properties ? own.items : undefined
    return [row, ...(inside ? fieldRows(inside, shape, `${full}${own.items ? '[]' : ''}.`) : [])]
  })
}

export function fieldRow(
  name: string,
  schema: Schema & { readonly description?: string },
  { isOptional, ...shape }: ShapeOf & { readonly isOptional: boolean },
): string[] {
  const grade = schema['x-evidence']
  const own = grade !== undefined && grade !== shape.grade ? ` *${grade}*` : ''
  const type = `${typeOf(schema, shape)}${isOptional ? ', optional' : ''}`
  return [code(name), type, `${prose(schema.description ?? '')}${own}`]
}

/** The fields of a schema as a table. What has no fields has a sentence. */
export function fieldTable(schema: Schema, shape: ShapeOf): string[] {
  const rows = fieldRows(schema, shape)
  if (rows.length > 0) return table(['field', 'type', 'what it is'], rows)
  const type = typeOf(schema, shape)
  return type === 'object' || type === 'any' ? [] : [`${type}.`]
}
