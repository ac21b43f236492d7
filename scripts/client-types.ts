import { nameOf } from '../adapters/client/naming.js'
import { clientOperations } from '../adapters/client/operations.js'
import { type Evidence, evidenceGrades, isWeaker } from '../src/base/evidence.js'
import { once } from '../src/base/memo.js'
import { fieldsOfCode, problemCodes, problemSentence, problemStatus } from '../src/base/problem.js'
import { problemFields } from '../src/base/problem-fields.js'
import type { ClientOperation } from '../src/composition/client-operation.js'
import { type DocumentPart, Schemas } from '../src/http/openapi/schemas.js'
import { Descriptions } from '../src/http/openapi/texts.js'
import { evidenceOf, type Route } from '../src/http/route.js'
import { routeList, texts } from './route-table.js'

/**
 * The module that the build puts in the place of `adapters/client/operations.ts`: the table as a literal, and the types of
 * all operations as plain interfaces with their descriptions.
 */
export function writeOperations(): string {
  return [
    `import type { ClientOperation } from '../../src/composition/client-operation.js'`,
    `import type { CallOptions, CommonCode, FollowOperation, Grade, ListOperation, Operation } from './interface.js'`,
    `import type { RefusalOf } from './refusal.js'`,
    `export const clientOperations: readonly ClientOperation[] = ${JSON.stringify(clientOperations)}`,
    writeCodes(),
    '/** The operations of a grade or a stronger one, in their groups. */',
    'export type Groups<G extends Grade> = GroupsOfGrade[G]',
    `interface GroupsOfGrade {\n${evidenceGrades.map((grade) => `  readonly ${grade}: ${capital(grade)}Groups`).join('\n')}\n}`,
    ...evidenceGrades.map(writeGrade),
  ].join('\n\n')
}

/** The module that the build puts in the place of `adapters/client/shapes.ts`: it exports each shape that has a name of its own. */
export function writeShapes(): string {
  const ofOne = new Set(
    routeList.flatMap(({ id }) => ['Body', 'Query', 'Answer', 'Waiting'].map((part) => capital(id) + part)),
  )
  const names = Object.keys(designed().schemas.components).filter((name) => !ofOne.has(name))
  return `export type { ${names.sort().join(', ')} } from './operations.js'\n`
}

function writeCodes(): string {
  const codes = problemCodes.map((code) => {
    const fields = fieldsOfCode(code).map(
      (name) =>
        `${comment(problemFields[name].description, 6)}      readonly ${name}?: ${typeOf(problemFields[name] as DocumentPart, designed(), 6)} | undefined`, // As JSON Schema.
    )
    return `${comment(problemSentence(code), 2)}  readonly ${code}: { readonly status: ${problemStatus(code)}; readonly fields: {${fields.length ? `\n${fields.join('\n')}\n    ` : ''}} }`
  })
  return `/** Every code of a refusal, with its status and the fields that it may have. */
interface Codes {
${codes.join('\n')}
  /** The answer has no code. */
  readonly unknown: { readonly status: number; readonly fields: unknown }
}

/** Every code. \`unknown\`: the answer has none. */
export type Code = keyof Codes
export type StatusOf<C extends Code> = Codes[C]['status']
export type FieldsOf<C extends Code> = Codes[C]['fields']`
}

const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

/** The shapes that every operation down to a grade sends and gets. */
interface Shapes {
  readonly schemas: Schemas
  /** The name of a shape. One that is the same as for the weakest grade is written once. */
  readonly nameOf: (name: string) => string
}

function shapesOf(least: Evidence): Shapes {
  const schemas = new Schemas(new Descriptions(texts), least)
  for (const { route } of routesOf(least)) {
    fieldsOf(route, { schemas, nameOf: String })
    answerOf(route, { schemas, nameOf: String })
  }
  if (least === 'designed') return { schemas, nameOf: String }
  const differing = differences(schemas.components, designed().schemas.components)
  return { schemas, nameOf: (name) => (differing.has(name) ? capital(least) + name : name) }
}

const designed = once(() => shapesOf('designed'))

type Components = Schemas['components']

/** The names of the shapes that are not the same in both, or that hold one that is not. */
function differences(some: Components, all: Components): ReadonlySet<string> {
  const texts = new Map(Object.entries(some).map(([name, schema]) => [name, JSON.stringify(schema)]))
  const found = new Set([...texts].flatMap(([name, text]) => (text === JSON.stringify(all[name]) ? [] : [name])))
  for (let size = -1; size !== found.size; ) {
    size = found.size
    for (const [name, text] of texts)
      if ([...found].some((other) => text.includes(`"#/components/schemas/${other}"`))) found.add(name)
  }
  return found
}

interface Endpoint {
  readonly route: Route
  readonly operation: ClientOperation
  readonly group: string
  readonly method: string
}

/** The operations of a grade or a stronger one. */
const routesOf = (least: Evidence): Endpoint[] =>
  clientOperations.flatMap((operation) =>
    routeList
      .filter(({ id }) => id === operation.id)
      .flatMap((route) =>
        (route.versions ?? [undefined])
          .map((version, at) => ({
            version,
            ...nameOf(at === 0 ? route.id : `${route.id}_${version}`),
            route,
            operation,
          }))
          .filter(({ version }) => !isWeaker(evidenceOf(route, version), least)),
      ),
  )

function writeGrade(least: Evidence): string {
  const shapes = shapesOf(least)
  const groups = new Map<string, string[]>()
  for (const endpoint of routesOf(least))
    groups.set(endpoint.group, [...(groups.get(endpoint.group) ?? []), ...writeOperation(endpoint, shapes)])
  const prefix = least === 'designed' ? '' : capital(least)
  const names = [...groups.keys()].sort()
  const own = Object.entries(shapes.schemas.components).filter(
    ([name]) => prefix === '' || shapes.nameOf(name) !== name,
  )
  return [
    ...own.map(([name, schema]) => writeShape(shapes.nameOf(name), schema, shapes)),
    ...names.map((name) => `export interface ${groupName(prefix, name)} {\n${groups.get(name)?.join('\n')}\n}`),
    `export interface ${capital(least)}Groups {\n${names.map((name) => `  readonly ${name}: ${groupName(prefix, name)}`).join('\n')}\n}`,
  ].join('\n\n')
}

const groupName = (prefix: string, group: string): string => `${prefix}${capital(group)}Group`

function writeOperation({ route, operation, method }: Endpoint, shapes: Shapes): string[] {
  const parameters = new Map(
    (route.params ? shapes.schemas.fields(route.id, route.params) : []).map(({ name, schema }) => [
      name,
      typeOf(schema, shapes),
    ]),
  )
  const ordered = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => `${name}: ${parameters.get(name)}`)
  const call = `[${[...ordered, ...fieldsOf(route, shapes), 'options?: CallOptions'].join(', ')}]`
  const codes = [...new Set(route.errors)].map((code) => `'${code}'`)
  const refusal = `RefusalOf<${[...codes, 'CommonCode'].join(' | ')}>`
  const answer = answerOf(route, shapes)
  const kind = operation.pages ? 'ListOperation' : 'Operation'
  const text = comment(`${route.summary} (${route.method} ${route.path})`, 2)
  const follow = `${comment('Streams what is new from now on. Misses nothing after a cut.', 2)}  readonly follow: FollowOperation<${call}, ${answer}>`
  return [
    `${text}  readonly ${method}: ${kind}<${call}, ${answer}, ${refusal}>`,
    ...(operation.follows ? [follow] : []),
  ]
}

function fieldsOf({ id, text, query, body }: Route, shapes: Shapes): string[] {
  if (text) return ['csv: string']
  const schema = body ?? query
  if (!schema || Object.keys(schema.shape).length === 0) return []
  const shape = shapes.schemas.reference(schema, { id, name: `${capital(id)}${body ? 'Body' : 'Query'}` })
  const isRequired = Object.values(schema.shape).some((field) => field._zod.optin !== 'optional')
  return [`fields${isRequired ? '' : '?'}: ${typeOf(shape, shapes)}`]
}

function answerOf({ id, result, waits }: Route, shapes: Shapes): string {
  const { raw, accept } = clientOperations.find((operation) => operation.id === id) ?? {}
  if (raw) return 'Response'
  // `Uint8Array` takes no argument before TypeScript 5.7.
  if (accept) return accept === 'application/pdf' ? "ReturnType<Uint8Array['slice']>" : 'string'
  if (!result) return 'undefined'
  const answers = [shapes.schemas.reference(result, { id, name: `${capital(id)}Answer` })]
  if (waits) answers.push(shapes.schemas.reference(waits, { id, name: `${capital(id)}Waiting` }))
  return answers.map((schema) => typeOf(schema, shapes)).join(' | ')
}

function writeShape(name: string, schema: DocumentPart, shapes: Shapes): string {
  const text = comment(String(schema.description ?? ''), 0)
  const isInterface = schema.type === 'object' && Object.keys(schema.properties ?? {}).length > 0
  return `${text}export ${isInterface ? `interface ${name} ` : `type ${name} = `}${typeOf(schema, shapes)}`
}

/** JSON Schema as TypeScript. */
function typeOf(schema: DocumentPart, shapes: Shapes, indent = 0): string {
  const { $ref, const: value, enum: values, anyOf, type } = schema
  if (typeof $ref === 'string') return shapes.nameOf($ref.slice('#/components/schemas/'.length))
  if (value !== undefined) return JSON.stringify(value)
  if (Array.isArray(values)) return values.map((each) => JSON.stringify(each)).join(' | ')
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map((part) => typeOf(part, shapes, indent)))].join(' | ')
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each }, shapes, indent)).join(' | ')
  switch (type) {
    case 'object':
      return objectType(schema, shapes, indent)
    case 'array':
      return arrayType(schema, shapes, indent)
    case 'integer':
      return 'number'
    default:
      return typeof type === 'string' ? type : 'unknown'
  }
}

function arrayType({ items, prefixItems }: DocumentPart, shapes: Shapes, indent: number): string {
  const part = (schema: unknown) => typeOf(schema as DocumentPart, shapes, indent) // By JSON Schema.
  if (Array.isArray(prefixItems)) return `[${prefixItems.map(part).join(', ')}]`
  const item = part(items ?? {})
  return /[|&]/.test(item) ? `(${item})[]` : `${item}[]`
}

function objectType(
  { properties, required = [], additionalProperties }: DocumentPart,
  shapes: Shapes,
  indent: number,
): string {
  if (properties === undefined) {
    const values = typeof additionalProperties === 'object' ? (additionalProperties as DocumentPart) : {} // By JSON Schema.
    return `Record<string, ${typeOf(values, shapes, indent)}>`
  }
  const inner = ' '.repeat(indent + 2)
  const fields = Object.entries(properties as Record<string, DocumentPart>).map(([name, field]) => {
    const isRequired = (required as string[]).includes(name)
    const text = comment(String(field.description ?? ''), indent + 2)
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name)
    return `${text}${inner}${key}${isRequired ? '' : '?'}: ${typeOf(field, shapes, indent + 2)}${isRequired ? '' : ' | undefined'}`
  })
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('\n')}\n${' '.repeat(indent)}}`
}

const comment = (text: string, indent: number): string =>
  text === '' ? '' : `${' '.repeat(indent)}/** ${text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n`
