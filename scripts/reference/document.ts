import { examples, openapi } from '../../src/http/openapi/document.js'
import { routeList, texts } from '../route-table.js'

/** A JSON Schema of the document. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly 'x-evidence'?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly prefixItems?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
}

interface Media {
  readonly schema: Schema
  readonly examples?: { readonly recorded: { readonly value: unknown } }
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description: string
  readonly schema: Schema
  readonly 'x-evidence'?: string
}

interface ResponsePart {
  readonly description?: string
  readonly content?: Readonly<Record<string, Media>>
  readonly 'x-codes'?: readonly string[]
}

/** An operation under one path. */
export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly [string]
  readonly 'x-evidence': string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, ResponsePart>>
}

interface Document {
  readonly info: { readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>
  }
}

/** The OpenAPI document of a service that accepts every grade. */
export const document = openapi({
  routes: routeList,
  baseUrl: 'http://127.0.0.1:4242',
  evidence: 'designed',
  texts,
  examples,
}) as unknown as Document // Its parts have the shapes that `src/http/openapi/` gives them.

/** A path of an operation, with the name that the OpenAPI document has for it. */
interface Place {
  readonly method: string
  readonly path: string
  readonly grade: string
  readonly operationId: string
}

/** An operation with every path that it has, one for each version of the interface. */
export interface ListedOperation {
  readonly id: string
  readonly operation: Operation
  readonly places: readonly Place[]
}

/** Every operation once, in the order of the document. Its first version describes it. */
export const operations: readonly ListedOperation[] = routeList.map(({ id, method, path, versions = [undefined] }) => {
  const found = versions.map((version) => {
    const full = `${version ? `/${version}` : ''}${path}`.replace(/:(\w+)/g, '{$1}')
    const operation = document.paths[full]?.[method.toLowerCase()]
    if (operation === undefined) throw new Error(`the OpenAPI document lacks ${method} ${full}`)
    return {
      operation,
      place: { method, path: full, grade: operation['x-evidence'], operationId: operation.operationId },
    }
  })
  const [{ operation }] = found as [(typeof found)[number]] // An operation has a path.
  return { id, operation, places: found.map(({ place }) => place) }
})

/** The name of the component that a schema refers to. */
export const nameOf = ({ $ref }: Schema): string | undefined => $ref?.slice('#/components/schemas/'.length)

/** The file of an area's page, without its ending. */
export const fileOfArea = (tag: string): string => tag.replaceAll(' ', '-')

/** Where an operation is described, from a page in `docs/reference/`. */
export const linkTo = ({ id, operation }: ListedOperation): string =>
  `[\`${id}\`](operations/${fileOfArea(operation.tags[0])}.md#${id.toLowerCase()})`
