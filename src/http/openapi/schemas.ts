import type { Evidence } from '../../base/evidence.js'
import { gradeOf, isWeakField } from '../fields/graded.js'
import { componentName } from '../fields/marks.js'
import { z } from '../fields/schema.js'
import type { Descriptions } from './texts.js'

export type DocumentPart = Record<string, unknown>

type Path = readonly string[]
type Describe = (path: Path) => string

/** Collects the named schemas of a document. Leaves out fields with a weaker evidence grade than `least`. */
export class Schemas {
  readonly components: Record<string, DocumentPart> = {}

  constructor(
    readonly descriptions: Descriptions,
    readonly least: Evidence,
  ) {}

  /** A reference to the schema of a body or an answer. A schema without a name of its own gets `name`. */
  reference(schema: z.ZodMiniType, { id, name }: { readonly id: string; readonly name: string }): DocumentPart {
    const part = this.#convert(schema, (path) => this.descriptions.operationField(id, path), [])
    return componentName(schema) === undefined ? this.add(name, part) : part
  }

  add(name: string, schema: DocumentPart): DocumentPart {
    this.components[name] = schema
    return { $ref: `#/components/schemas/${name}` }
  }

  /** The parameters of an operation: each field with its schema and whether it is required. */
  fields(
    id: string,
    schema: z.ZodMiniObject,
  ): { name: string; description: string; required: boolean; schema: DocumentPart }[] {
    const describe: Describe = (path) => this.descriptions.operationField(id, path)
    return this.#fieldsOf(schema).map(([name, field]) => ({
      name,
      description: describe([name]),
      required: !isOptional(field),
      schema: this.#convert(field, describe, [name]),
    }))
  }

  #fieldsOf(schema: z.ZodMiniObject): [string, z.ZodMiniType][] {
    const fields = Object.entries(schema.shape) as [string, z.ZodMiniType][] // Shapes of our schemas hold zod/mini's classes.
    return fields.filter(([, field]) => !isWeakField(field, this.least))
  }

  #convert(schema: z.ZodMiniType, describe: Describe, path: Path): DocumentPart {
    const grade = gradeOf(schema)
    const evidence = grade && { 'x-evidence': grade }
    const name = componentName(schema)
    if (name === undefined) return { ...this.#shape(schema, describe, path), ...evidence }
    if (!(name in this.components)) {
      this.components[name] = {} // Stops here if the shape contains itself.
      const described: Describe = (inner) => this.descriptions.componentField(name, inner)
      const description = this.descriptions.component(name)
      this.components[name] = { ...this.#shape(schema, described, []), description }
    }
    return { $ref: `#/components/schemas/${name}`, ...evidence }
  }

  #shape(schema: z.ZodMiniType, describe: Describe, path: Path): DocumentPart {
    const part = (inner: z.core.$ZodType, at = path) => this.#convert(inner as z.ZodMiniType, describe, at) // As above.
    const { def } = schema._zod as z.core.$ZodTypes['_zod'] // A union that `type` tells apart.
    switch (def.type) {
      case 'object': {
        const fields = this.#fieldsOf(schema as z.ZodMiniObject) // By its `type`.
        const required = fields.filter(([, field]) => !isOptional(field)).map(([name]) => name)
        const properties = fields.map(([name, field]) => {
          const inner = [...path, name]
          return [name, { ...part(field, inner), description: describe(inner) }] as const
        })
        return {
          type: 'object',
          ...(required.length > 0 && { required }),
          properties: Object.fromEntries(properties),
          ...this.#others(def.catchall, part),
        }
      }
      case 'optional':
        return part(def.innerType)
      case 'nullable':
        return nullable(part(def.innerType))
      case 'array': {
        const { items: _, ...limits } = plain(schema)
        return { ...limits, items: part(def.element) }
      }
      case 'record':
        return { type: 'object', additionalProperties: openOr(part(def.valueType)) }
      case 'tuple': {
        const prefixItems = def.items.map((item) => part(item))
        const { length } = prefixItems
        const items = this.#anyItem(def.items, prefixItems)
        return { type: 'array', prefixItems, items, minItems: length, maxItems: length }
      }
      case 'union':
        return { anyOf: def.options.map((option) => part(option)) }
      default:
        return plain(schema)
    }
  }

  #others(catchall: z.core.$ZodType | undefined, part: (schema: z.core.$ZodType) => DocumentPart): DocumentPart {
    if (!catchall || isWeakField(catchall, this.least)) return {}
    return { additionalProperties: catchall._zod.def.type === 'never' ? false : openOr(part(catchall)) }
  }

  /** Any item of a tuple. It has a name, because some generators write a list of a union without parentheses. */
  #anyItem(items: readonly z.core.$ZodType[], parts: readonly DocumentPart[]): DocumentPart {
    const names = items.map((item) => componentName(item as z.ZodMiniType)) // Shapes of our schemas hold zod/mini's classes.
    const schema = { anyOf: parts }
    if (names.includes(undefined)) return schema
    return this.add(names.join('Or'), { ...schema, description: 'One of these, as its place in the list says.' })
  }
}

/** What zod itself says of a schema. Bounds of safe integers are left out: every JSON parser has its own. */
function plain(schema: z.ZodMiniType): DocumentPart {
  const { $schema, minimum, maximum, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' })
  return {
    ...rest,
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
  }
}

const isOptional = (schema: z.ZodMiniType): boolean => schema._zod.optin === 'optional'
const openOr = (schema: DocumentPart): DocumentPart | true => (Object.keys(schema).length === 0 ? true : schema)

function nullable({ 'x-evidence': grade, ...schema }: DocumentPart): DocumentPart {
  const evidence = grade !== undefined && { 'x-evidence': grade }
  if (typeof schema.type !== 'string') return { anyOf: [schema, { type: 'null' }], ...evidence }
  const values = Array.isArray(schema.enum) && { enum: [...schema.enum, null] }
  return { ...schema, type: [schema.type, 'null'], ...values, ...evidence }
}
