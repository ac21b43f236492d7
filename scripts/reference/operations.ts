import { nameOf as clientName } from '../../adapters/client/naming.js'
import { clientOperations } from '../../adapters/client/operations.js'
import { errorsOf } from '../../src/http/routing/errors.js'
import { routeList } from '../route-table.js'
import { document, fileOfArea, type ListedOperation, nameOf, operations, type Schema } from './document.js'
import { anchor, code, json, page, prose, table } from './markdown.js'
import { areaOfShape, fieldRow, fieldTable, isShared, type ShapeOf } from './shapes.js'

/** A page for each area: its operations, and the shapes that it introduces. */
export function operationPages(): Map<string, string> {
  const areas = document.tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags[0] === name)
    const shapes = [...areaOfShape].filter(([, area]) => area === name).map(([shape]) => shape)
    const text = page(
      `# ${titleOf(name)}`,
      prose(description),
      table(
        ['operation', 'what it does'],
        own.map(({ id, operation }) => [`[\`${id}\`](#${anchor(id)})`, prose(operation.summary)]),
      ),
      ...own.map((each) => operationPart(each)),
      ...(shapes.length > 0 ? ['## Shapes', ...shapes.map((shape) => shapePart(shape, name))] : []),
    )
    return [`operations/${fileOfArea(name)}.md`, text] as const
  })
  return new Map(areas)
}

/** The heading of an area. */
export const titleOf = (tag: string): string =>
  ({ oidc: 'OpenID Connect', mcp: 'MCP' })[tag] ?? `${tag[0]?.toUpperCase()}${tag.slice(1)}`

const linkFrom =
  (area: string) =>
  (shape: string): string => {
    const owner = areaOfShape.get(shape) ?? area
    return `[${shape}](${owner === area ? '' : `${fileOfArea(owner)}.md`}#shape-${anchor(shape)})`
  }

function shapePart(name: string, area: string): string[] {
  const schema = document.components.schemas[name] ?? {}
  return [
    `### ${name} {#shape-${anchor(name)}}`,
    prose(schema.description ?? ''),
    ...fieldTable(schema, { link: linkFrom(area), grade: '' }),
  ]
}

function operationPart({ id, operation, places }: ListedOperation): string[] {
  const { summary, description, parameters, tags, requestBody } = operation
  const shape: ShapeOf = { link: linkFrom(tags[0]), grade: operation['x-evidence'] }
  const sent = requestBody?.content['application/json'] ?? Object.values(requestBody?.content ?? {})[0]
  return [
    `## ${id}`,
    prose(summary),
    ...clientPart(id),
    places
      .map(({ method, path, grade, operationId }) => {
        const named = operationId === id ? '' : `, as ${code(operationId)}`
        return `- ${code(`${method} ${path}`)} ${grade}${named}`
      })
      .join('\n'),
    prose(description),
    `**Credentials:** ${credentialsOf(operation)}.`,
    ...parametersPart(parameters, shape),
    ...(sent ? ['**Body**', ...bodyPart(sent.schema, shape)] : []),
    ...(sent?.examples ? [json(sent.examples.recorded.value)] : []),
    ...answerParts(operation, shape),
    ...errorsPart(id),
  ]
}

/** How the typed client calls the operation, if it does. */
function clientPart(id: string): string[] {
  if (!clientOperations.some((each) => each.id === id)) return []
  const { group, method } = clientName(id)
  return [`In the [typed client](../options.md#client): \`${group}.${method}\`.`]
}

/** The ways to say who is calling. The descriptions of operations say who may. */
function credentialsOf({ security }: ListedOperation['operation']): string {
  const names: Readonly<Record<string, string>> = {
    accessToken: 'access token',
    agentToken: "agent's token",
    clientCredentials: 'client credentials',
    refreshToken: 'refresh token',
    registrationToken: 'registration token',
    publicSecret: 'publishable secret',
    sessionHeader: 'session',
    sessionCookie: 'session',
    controlToken: 'control token, or a call from the same machine',
    controlBearer: 'control token, or a call from the same machine',
  }
  const ways = security.map((way) => Object.keys(way).map((scheme) => names[scheme] ?? scheme))
  const words = [...new Set(ways.map((way) => (way.length === 0 ? 'none' : way.join(' and '))))]
  return words.length === 0 ? 'none' : words.join(', or ')
}

function parametersPart(parameters: ListedOperation['operation']['parameters'], shape: ShapeOf): string[] {
  const rows = parameters.map(({ name, in: place, required = false, description, schema, ...own }) => {
    const grade = own['x-evidence'] ?? schema['x-evidence']
    const described = { ...schema, description, ...(grade !== undefined && { 'x-evidence': grade }) }
    const [field = '', type = '', text = ''] = fieldRow(name, described, { ...shape, isOptional: !required })
    return [field, place, type, text]
  })
  return rows.length > 0 ? ['**Parameters**', ...table(['parameter', 'in', 'type', 'what it is'], rows)] : []
}

function bodyPart(schema: Schema, shape: ShapeOf): string[] {
  const name = nameOf(schema)
  if (name !== undefined && isShared(name)) return [`A ${shape.link(name)}.`]
  const parts = fieldTable(schema, shape)
  return parts.length > 0 ? parts : ['No fields.']
}

function answerParts({ responses, summary }: ListedOperation['operation'], shape: ShapeOf): string[] {
  return Object.entries(responses)
    .filter(([status]) => !/^[45]/.test(status))
    .flatMap(([status, { content = {}, description = '' }]) => {
      const types = Object.keys(content).filter((type) => type !== 'application/json')
      const answer = content['application/json']
      const also = types.length > 0 ? ` ${answer ? 'Also' : 'As'} ${types.map(code).join(', ')}.` : ''
      const head = status === 'default' ? '**Otherwise**' : `**Answer ${status}**`
      const text = description === summary ? '' : ` ${prose(description)}`
      return [
        `${head}${text}${also}`,
        ...(answer ? bodyPart(answer.schema, shape) : []),
        ...(answer?.examples ? [json(answer.examples.recorded.value)] : []),
      ]
    })
}

/** The errors that the operation itself has, and then those of reading the request and finding the caller. */
function errorsPart(id: string): string[] {
  const route = routeList.find((each) => each.id === id)
  if (route === undefined) throw new Error(`no route has the id ${id}`)
  const link = (each: string) => `[\`${each}\`](../errors.md#${anchor(each)})`
  const own: readonly string[] = route.errors ?? []
  const others = errorsOf(route).filter((each) => !own.includes(each))
  return [
    ...(own.length > 0 ? [`**Errors:** ${own.map(link).join(', ')}`] : []),
    ...(others.length > 0
      ? [
          '::: details Errors of reading the request, finding the caller and storing',
          others.map(link).join(', '),
          ':::',
        ]
      : []),
  ]
}
