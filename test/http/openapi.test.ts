import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { routeList, texts } from '../../scripts/route-table.js'
import { evidenceGrades } from '../../src/base/evidence.js'
import { VERSION } from '../../src/base/version.js'
import { documentOf, examples, openapi } from '../../src/http/openapi/document.js'
import { Descriptions } from '../../src/http/openapi/texts.js'
import { isGraded } from '../../src/http/route.js'
import { errorsOf } from '../../src/http/routing/errors.js'
import { operations } from '../support/contract/operations.js'

interface Document {
  openapi: string
  info: Record<string, unknown>
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, Shape>>
}

interface Operation {
  operationId: string
  description: string
  'x-evidence': string
  responses: Record<string, { 'x-codes'?: string[] }>
}

interface Shape {
  allOf?: Shape[]
  properties?: Record<string, Shape & { enum?: unknown[] }>
}

const service = { routes: routeList, baseUrl: 'http://127.0.0.1:4242', texts, examples }

const documentIn = (evidence: (typeof evidenceGrades)[number]) =>
  openapi({ ...service, evidence }) as unknown as Document

const document = documentIn('designed')

const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
  )

/** The operations that a strict mode may refuse. The controls and pages answer in each mode. */
const gradedIds: ReadonlySet<string> = new Set(routeList.flatMap((route) => (isGraded(route) ? [route.id] : [])))

describe('the OpenAPI document', () => {
  it.each(evidenceGrades)('is valid OpenAPI 3.1 in a service that accepts %s', async (grade) => {
    const shown = documentIn(grade)
    const { errors } = await new Validator().validate(structuredClone(shown) as never)
    expect(errors ?? []).toEqual([])
    expect(shown.openapi).toBe('3.1.0')
  })

  it('has the version of the interface, and that of farthing beside it', () => {
    expect(document.info).toMatchObject({ version: '4.0.0', 'x-farthing-version': VERSION })
  })

  it("lists exactly the table's operations, each once and with its evidence", () => {
    const listed = operationsOf(document)
    expect(listed.map((entry) => `${entry.method} ${entry.path} ${entry['x-evidence']}`).sort()).toEqual(
      operations
        .map(({ route, path, evidence }) => `${route.method} ${path.replace(/:(\w+)/g, '{$1}')} ${evidence}`)
        .sort(),
    )
    expect(duplicates(listed.map(({ operationId }) => operationId))).toEqual([])
  })

  it.each(['documented', 'observed', 'named'] as const)(
    'lists only what answers in a service that accepts %s',
    (grade) => {
      const accepted: readonly string[] = evidenceGrades.slice(0, evidenceGrades.indexOf(grade) + 1)
      const graded = operationsOf(documentIn(grade)).filter(({ operationId }) => gradedIds.has(operationId))
      expect(graded.length).toBeGreaterThan(0)
      for (const entry of graded) expect(accepted, entry.operationId).toContain(entry['x-evidence'])
      const shapes = Object.entries(documentIn(grade).components.schemas ?? {}).filter(
        ([name]) => !name.endsWith('Error'),
      )
      expect(JSON.stringify(shapes)).not.toContain('"x-evidence":"designed"')
    },
  )

  it('names every body, every answer and every error', () => {
    const { schemas = {} } = document.components
    expect(Object.keys(schemas).length).toBeGreaterThan(300)
    const inline = operationsOf(document).flatMap(({ operationId, responses, ...rest }) =>
      [...Object.values(responses), (rest as { requestBody?: object }).requestBody]
        .flatMap((part) => Object.entries((part as { content?: object } | undefined)?.content ?? {}))
        .filter(([type, { schema }]) => type === 'application/json' && !schema.$ref)
        .map(() => operationId),
    )
    expect(inline).toEqual([])
  })

  it('describes every tag, operation, parameter, component and field, and nothing else', () => {
    const descriptions = new Descriptions(texts)
    documentOf({ ...service, evidence: 'designed' }, descriptions)
    expect([...descriptions.missing]).toEqual([])
    expect(descriptions.unused()).toEqual([])
  })

  it('shows no name of our code in a sentence', () => {
    const sentences: string[] = []
    const collect = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [name, part] of Object.entries(value))
        if ((name === 'summary' || name === 'description') && typeof part === 'string') sentences.push(part)
        else collect(part)
    }
    collect(document)
    expect(sentences.length).toBeGreaterThan(routeList.length)
    // `z` is what fields are described with.
    expect(sentences.filter((sentence) => /\bz\.[a-z]/.test(sentence))).toEqual([])
  })

  it('gives each operation a component with exactly its error codes, and each status those that have it', () => {
    for (const route of routeList) {
      const name = `${route.id[0]?.toUpperCase()}${route.id.slice(1)}Error`
      const { code, status } = document.components.schemas?.[name]?.allOf?.[1]?.properties ?? {}
      expect(code?.enum, name).toEqual(errorsOf(route))
      const { responses } = operationsOf(document).find(({ operationId }) => operationId === route.id) ?? {}
      const byStatus = Object.entries(responses ?? {}).filter(([, response]) => response['x-codes'])
      expect(byStatus.map(([known]) => Number(known)).sort()).toEqual([...(status?.enum ?? [])].sort())
      expect(byStatus.flatMap(([, response]) => response['x-codes']).sort()).toEqual([...errorsOf(route)].sort())
    }
  })

  it('refers only to components that it has, and has none that nothing refers to', () => {
    const text = JSON.stringify(document)
    const referred = new Set([...text.matchAll(/"#\/components\/(\w+\/[\w-]+)"/g)].map(([, name]) => name))
    const { schemas = {}, headers = {}, responses = {} } = document.components
    const listed = [
      ...Object.keys(schemas).map((name) => `schemas/${name}`),
      ...Object.keys(headers).map((name) => `headers/${name}`),
      ...Object.keys(responses).map((name) => `responses/${name}`),
    ]
    expect([...referred].sort()).toEqual(listed.sort())
  })
})

function duplicates(names: readonly string[]): string[] {
  return names.filter((name, at) => names.indexOf(name) !== at)
}
