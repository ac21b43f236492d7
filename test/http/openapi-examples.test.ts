import { readFileSync, writeFileSync } from 'node:fs'
import { dereference, type Schema, validate } from '@cfworker/json-schema'
import { describe, expect, it } from 'vitest'
import { routeList, texts } from '../../scripts/route-table.js'
import { evidenceGrades } from '../../src/base/evidence.js'
import { examples, openapi } from '../../src/http/openapi/document.js'
import { fileOf, hasExample } from '../support/examples/recorder.js'
import { recordedExamples } from '../support/examples/tour.js'

const file = new URL('../../src/http/openapi/examples.json', import.meta.url)

interface Media {
  readonly schema: Schema
  readonly examples?: { readonly recorded: { readonly value: unknown } }
}
interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly schema: Schema; readonly example?: unknown }[]
  readonly requestBody?: { readonly content: Record<string, Media> }
  readonly responses: Record<string, { readonly content?: Record<string, Media> }>
}

const documentIn = (evidence: (typeof evidenceGrades)[number]) =>
  openapi({ routes: routeList, baseUrl: 'http://127.0.0.1:4242', evidence, texts, examples }) as unknown as {
    paths: Record<string, Record<string, Operation>>
    components: { schemas: object }
  }

const BASE = new URL('https://document.invalid/')

/** Every example of a document with its schema. */
function shownExamples({ paths }: ReturnType<typeof documentIn>) {
  return Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ operationId, parameters, requestBody, responses }) => {
      const media = [requestBody, ...Object.values(responses)].flatMap((part) => Object.values(part?.content ?? {}))
      const bodies = media.flatMap(({ schema, examples: shown }) =>
        shown ? [{ operationId, schema, value: shown.recorded.value }] : [],
      )
      const values = parameters.flatMap(({ schema, example }) =>
        example === undefined ? [] : [{ operationId, schema, value: example }],
      )
      return [...bodies, ...values]
    }),
  )
}

/** FARTHING_WRITE_EXAMPLES=1 npx vitest run test/http/openapi-examples.test.ts writes the file. */
describe('The examples of the OpenAPI document', () => {
  it('are what a tour of the service records', async () => {
    const recorded = fileOf(await recordedExamples())
    if (process.env.FARTHING_WRITE_EXAMPLES) writeFileSync(file, recorded)
    expect(recorded).toBe(readFileSync(file, 'utf8'))
    expect(recorded.length).toBeLessThan(150_000)
  })

  it('show every operation with fields: what it takes, and what it answers', () => {
    const without = routeList.filter(hasExample).flatMap(({ id, body, result, relays }) => {
      const example = examples[id]
      const missing = [
        ...(body && !example?.body ? ['body'] : []),
        ...(result && example?.answer === undefined && !relays ? ['answer'] : []),
      ]
      return missing.map((part) => `${id}: ${part}`)
    })
    expect(without).toEqual([])
  })

  it.each(evidenceGrades)('are valid for their schemas in a service that accepts %s', (grade) => {
    const document = documentIn(grade)
    const { components } = document
    const parts = dereference({ $defs: components.schemas, components } as Schema, {}, BASE)
    const shown = shownExamples(document)
    expect(shown.length).toBeGreaterThan(10)
    const wrong = shown.flatMap(({ operationId, schema, value }) => {
      const known = schema.$ref === undefined ? schema : parts[BASE.href + schema.$ref]
      if (known === undefined || typeof known === 'boolean') return [`${operationId} refers to nothing`]
      return validate(value, known, '2020-12', parts).errors.map(
        ({ instanceLocation, error }) => `${operationId} ${instanceLocation}: ${error}`,
      )
    })
    expect(wrong).toEqual([])
  })

  it('show no field that a strict service leaves out', () => {
    const strict = shownExamples(documentIn('documented')).find(({ operationId }) => operationId === 'createCommodity')
    expect(examples.createCommodity?.body).toHaveProperty('payback')
    expect(strict?.value).not.toHaveProperty('payback')
  })
})
