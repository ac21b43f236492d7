import { document, linkTo, nameOf, operations, type Schema } from './document.js'
import { code, page, prose, table } from './markdown.js'
import { titleOf } from './operations.js'

/** The fields of a schema that are graded designed, by their paths. */
function designedFields(schema: Schema, path = '', seen: readonly string[] = []): string[] {
  const name = nameOf(schema)
  if (name !== undefined) {
    const whole = document.components.schemas[name]
    return whole && !seen.includes(name) ? designedFields(whole, path, [...seen, name]) : []
  }
  const { properties = {}, items, anyOf = [] } = schema
  return [
    ...Object.entries(properties).flatMap(([field, own]) =>
      own['x-evidence'] === 'designed' ? [`${path}${field}`] : designedFields(own, `${path}${field}.`, seen),
    ),
    ...[items, ...anyOf].flatMap((part) => (part ? designedFields(part, path, seen) : [])),
  ]
}

/** Designed fields of operations that have a stronger grade themselves: what they take, and what they answer. */
function fieldsOf({ operation }: (typeof operations)[number]): { takes: string[]; answers: string[] } {
  const bodies = Object.values(operation.requestBody?.content ?? {}).slice(0, 1)
  const parameters = operation.parameters.filter((each) =>
    [each['x-evidence'], each.schema['x-evidence']].includes('designed'),
  )
  const answers = Object.entries(operation.responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, { content = {} }]) => Object.values(content).flatMap(({ schema }) => designedFields(schema)))
  return {
    takes: [
      ...new Set([...parameters.map(({ name }) => name), ...bodies.flatMap(({ schema }) => designedFields(schema))]),
    ],
    answers: [...new Set(answers)],
  }
}

export function designedPage(): string {
  const designed = operations.filter(({ places }) => places.every(({ grade }) => grade === 'designed'))
  const others = operations.filter((each) => !designed.includes(each))
  const areas = [...new Set(designed.map(({ operation }) => operation.tags[0]))]
  const fields = others.map((each) => ({ each, ...fieldsOf(each) }))
  return page(
    '# What we designed ourselves',
    'The real service may not have what this page lists, or may have it in another form. Its grade is *designed*. If your code must also work with the real service, start the sandbox with `--evidence observed`, which refuses all of it.',
    `${designed.length} of ${operations.length} operations are designed. The others have designed fields in some places.`,
    'Every error body is designed beyond `error` and `status`, and so are the header `Idempotency-Key` and all sandbox controls.',
    '## Operations',
    ...areas.flatMap((area) => [
      `### ${titleOf(area)}`,
      ...table(
        ['operation', 'what it does'],
        designed
          .filter(({ operation }) => operation.tags[0] === area)
          .map((each) => [linkTo(each), prose(each.operation.summary)]),
      ),
    ]),
    '## Fields of other operations',
    ...table(
      ['operation', 'what it takes', 'what it answers'],
      fields
        .filter(({ takes, answers }) => takes.length + answers.length > 0)
        .map(({ each, takes, answers }) => [linkTo(each), takes.map(code).join(', '), answers.map(code).join(', ')]),
    ),
  )
}
