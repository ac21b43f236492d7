import { describe, expect, it } from 'vitest'
import { type Evidence, evidenceGrades, isWeaker } from '../../src/base/evidence.js'
import { gradeOf } from '../../src/http/fields/graded.js'
import type * as z from '../../src/http/fields/zod.js'
import { fieldsByGrade } from '../support/contract/observed-fields.js'
import { operations } from '../support/contract/operations.js'

/** The tables of the Micro Payment Service Interface and of its clients, against the marks of the route table. */

type Definition = z.core.$ZodTypes['_zod']['def']

interface Graded {
  readonly path: string
  readonly grade: Evidence
}

/** The fields of a schema, with their grades. One without a mark has the grade of what holds it. */
function fieldsOf(schema: z.core.$ZodType | undefined, holder: Evidence, path = ''): Graded[] {
  if (!schema) return []
  const grade = gradeOf(schema) ?? holder
  const definition = schema._zod.def as Definition
  switch (definition.type) {
    case 'object':
      return Object.entries(definition.shape).flatMap(([name, field]) => [
        { path: path + name, grade: gradeOf(field) ?? grade },
        ...fieldsOf(field, grade, `${path}${name}.`),
      ])
    case 'array':
      return fieldsOf(definition.element, grade, path.replace(/\.?$/, '[].'))
    case 'record':
      return fieldsOf(definition.valueType, grade, path.replace(/\.?$/, '{}.'))
    case 'tuple':
      return definition.items.flatMap((item) => fieldsOf(item, grade, path.replace(/\.?$/, '[].')))
    case 'union':
      return definition.options.flatMap((option) => fieldsOf(option, grade, path))
    case 'optional':
    case 'nullable':
      return fieldsOf(definition.innerType, grade, path)
    default:
      return []
  }
}

const nameOf = ({ route, path }: (typeof operations)[number]) => `${route.method} ${path}`
const ofService = operations.filter(({ route }) => (route.scope ?? 'service') === 'service')

describe.each(['documented', 'observed', 'named'] as const)('the grade "%s"', (grade) => {
  const table = fieldsByGrade[grade]

  it('is that of the operations in its table', () => {
    const stronger = evidenceGrades
      .filter((other) => isWeaker(grade, other))
      .flatMap((other) => Object.keys(fieldsByGrade[other]))
    const added = Object.keys(table).filter((name) => !stronger.includes(name))
    const graded = ofService.filter(({ evidence }) => evidence === grade).map(nameOf)
    expect(graded.sort()).toEqual(added.sort())
  })

  it.each(ofService.map((operation) => [nameOf(operation), operation] as const))(
    'is that of the fields in its table: %s',
    (name, { route, evidence }) => {
      const { sends = [], answers = [] } =
        (table as Record<string, { sends?: readonly string[]; answers?: readonly string[] }>)[name] ?? {}
      const ofGrade = (fields: readonly Graded[]) =>
        [...new Set(fields.filter((field) => field.grade === grade).map(({ path }) => path))].sort()
      expect(ofGrade([route.query, route.body].flatMap((fields) => fieldsOf(fields, evidence)))).toEqual(
        [...sends].sort(),
      )
      expect(ofGrade(fieldsOf(route.result, evidence))).toEqual([...answers].sort())
    },
  )
})
