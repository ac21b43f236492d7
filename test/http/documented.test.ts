import { describe, expect, it } from 'vitest'
import { gradeOf } from '../../src/http/fields/graded.js'
import type * as z from '../../src/http/fields/zod.js'
import { documentedFields, ours, standard } from '../support/contract/documented-fields.js'
import { operations } from '../support/contract/operations.js'

type Definition = z.core.$ZodTypes['_zod']['def']

/** The paths of the fields of a schema that have the grade of the operation. */
function fieldsOf(schema: z.core.$ZodType | undefined, path = ''): string[] {
  if (!schema) return []
  const definition = schema._zod.def as Definition
  switch (definition.type) {
    case 'object':
      return Object.entries(definition.shape).flatMap(([name, field]) =>
        gradeOf(field) ? [] : [path + name, ...fieldsOf(field, `${path}${name}.`)],
      )
    case 'array':
      return gradeOf(schema) ? [] : fieldsOf(definition.element, path.replace(/\.?$/, '[].'))
    case 'record':
      return fieldsOf(definition.valueType, path.replace(/\.?$/, '{}.'))
    case 'tuple':
      return definition.items.flatMap((item) => fieldsOf(item, path.replace(/\.?$/, '[].')))
    case 'union':
      return definition.options.flatMap((option) => fieldsOf(option, path))
    case 'optional':
    case 'nullable':
      return fieldsOf(definition.innerType, path)
    default:
      return []
  }
}

const unique = (names: readonly string[]) => [...new Set(names)].sort()
const nameOf = ({ route, path }: (typeof operations)[number]) => `${route.method} ${path}`
const graded = operations.filter(({ evidence }) => evidence === 'documented')

describe('the grade "documented"', () => {
  it('is that of operations whose fields this test knows', () => {
    expect(graded.map(nameOf).sort()).toEqual([...Object.keys(documentedFields), ...standard].sort())
  })

  it.each(graded.map((operation) => [nameOf(operation), operation] as const))(
    'is that of the fields in the tables of the interface: %s',
    (name, { route }) => {
      const sends = [route.query, route.body].flatMap((fields) => fieldsOf(fields))
      const answers = fieldsOf(route.result).filter((path) => path !== '[]' && path !== '{}')
      if (standard.includes(name))
        return expect([...sends, ...answers].filter((path) => ours.includes(path))).toEqual([])
      const { sends: shownRequest = [], answers: shownAnswer = [] } = documentedFields[name] ?? {}
      expect(unique(sends)).toEqual(unique(shownRequest))
      expect(unique(answers)).toEqual(unique(shownAnswer))
    },
  )
})
