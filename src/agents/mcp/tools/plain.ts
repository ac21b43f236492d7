import { removeInvisible } from '../../../base/text/invisible-characters.js'
import { isObject } from '../../../storage/unknown.js'
import type { Json } from './tool.js'

/** Returns text on one line, without invisible characters. */
export const plainLine = (text: string): string => removeInvisible(text).replace(/\s+/g, ' ').trim()

/** Characters of a price tail and their lookalikes. */
const LOOKALIKES = [
  [/[[［【〔〖〘〚⟦⁅❲⦋⦍⦏﹝]/gu, '('],
  [/[\]］】〕〗〙〛⟧⁆❳⦌⦎⦐﹞]/gu, ')'],
  [/[|｜¦∣│┃ǀ❘❙￨]/gu, '·'],
  [/(pr(?:ice|ovider))\s*[:：﹕︓꞉∶︰ː˸]\s*/giu, '$1 – '],
  [/[/⁄∕／]\s*(?=call)/giu, ' a '],
] as const

/** Rewrites a seller's text so that no part of it looks like a price tail. */
export const withoutPriceLookalikes = (text: string): string =>
  LOOKALIKES.reduce((written, [mark, plain]) => written.replace(mark, plain), removeInvisible(text))

/** Fields that stay exactly as they are: delivered content, and arguments of the agent. */
const EXACT = new Set(['response', 'arguments', 'additionalParams', 'change', 'approval'])
const SCHEMAS = new Set(['service_schema', 'input_schema'])
const LINES = new Set(['name', 'commodity_name', 'descriptor', 'seller', 'provider', 'businessName', 'summary'])

/** Makes an answer plain for agents: seller's text loses control and format characters, which hide text from people. */
export const plainAnswer = (answer: object): Json =>
  Object.fromEntries(Object.entries(answer).map(([name, value]) => [name, plainField(name, value)]))

/** The result of a tool: its answer, made plain, as an object and as text. */
export function toolResultOf(answer: object) {
  const structuredContent = plainAnswer(answer)
  return { content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }], structuredContent }
}

function plainField(name: string, value: unknown): unknown {
  if (EXACT.has(name)) return value
  if (SCHEMAS.has(name)) return plainPart(value)
  if (typeof value === 'string') return LINES.has(name) ? plainLine(value) : removeInvisible(value)
  if (Array.isArray(value)) return value.map((each) => plainField(name, each))
  return typeof value === 'object' && value !== null ? plainAnswer(value) : value
}

/** Keywords of a JSON Schema that contain values or names, and no schemas. */
const VALUES = new Set(['const', 'enum', 'default', 'examples', 'dependentRequired'])

/** Keywords that contain schemas by names that are not keywords. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Keywords that contain text for people. */
const WORDS = new Set(['title', 'description', '$comment'])

/** Makes a seller's schema plain: clean text, one type for each part, no `x-mcp-header`. It accepts the same as before. */
export function plainSchema(schema: object): Record<string, unknown> {
  const shown = Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === 'x-mcp-header') return []
    if (NAMED.has(keyword)) return [[keyword, eachPlain(value)]]
    if (VALUES.has(keyword)) return [[keyword, value]]
    if (typeof value !== 'string') return [[keyword, plainPart(value)]]
    return [[keyword, WORDS.has(keyword) ? withoutPriceLookalikes(value) : removeInvisible(value)]]
  })
  return withSingleType(Object.fromEntries(shown))
}

function plainPart(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(plainPart)
  return typeof part === 'object' && part !== null ? plainSchema(part) : part
}

function eachPlain(schemas: unknown): unknown {
  if (typeof schemas !== 'object' || schemas === null) return schemas
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plainPart(schema)]))
}

/** A list of types as `anyOf`, which accepts the same. Many clients pass schemas on to model providers that refuse such lists. */
export function withSingleType(schema: Json): Json {
  const { type, ...rest } = schema
  if (!Array.isArray(type)) return schema
  if (type.length === 1) return { type: type[0], ...rest }
  const anyOf = type.map((each) => ({ type: each }))
  if (!('anyOf' in rest)) return { anyOf, ...rest }
  return { ...rest, allOf: [...(Array.isArray(rest.allOf) ? rest.allOf : []), { anyOf }] }
}

/** The same in every part of a schema of our own. Leaves out what every JSON object matches, which checkers of schemas report. */
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
