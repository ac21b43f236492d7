import { expect, test } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { collections } from '../../src/collections.js'
import { type FieldSchema, isMarked, type SchemaPlace } from '../../src/http/fields/marks.js'
import { expectedAnswer, KnownValues } from '../../src/sandbox/exports/vitest/expected.js'
import { Source } from '../../src/sandbox/exports/vitest/source.js'
import { answerPlace, bodyPlace, learnMarks, queryPlace } from '../../src/sandbox/journal/marked-names.js'
import { redact } from '../../src/sandbox/journal/redact.js'
import { compareAnswers } from '../../src/sandbox/replay/difference.js'

/** What the marks of each field of each operation bring about. */

learnMarks(routeList, collections)

/** A text or a number at the end of a path. */
interface Leaf {
  readonly path: string
  readonly isNumber: boolean
  readonly isSecret: boolean
  readonly isGenerated: boolean
}

interface Definition {
  readonly type: string
  readonly shape?: Readonly<Record<string, FieldSchema>>
  readonly innerType?: FieldSchema
  readonly element?: FieldSchema
  readonly valueType?: FieldSchema
  readonly options?: readonly FieldSchema[]
  readonly items?: readonly FieldSchema[]
  readonly entries?: Readonly<Record<string, string>>
  readonly values?: readonly unknown[]
}

/** A value that fits a schema, as far as its texts and numbers go. */
function sample(schema: FieldSchema, fill: (leaf: Leaf) => unknown, path = 'body', above?: Leaf): unknown {
  const definition = schema._zod.def as unknown as Definition
  const own: Leaf = {
    path,
    isNumber: definition.type === 'number',
    isSecret: (above?.isSecret ?? false) || isMarked([schema], 'isSecret'),
    isGenerated: (above?.isGenerated ?? false) || isMarked([schema], 'isGenerated'),
  }
  const inner = (part: FieldSchema, at = path, holder: Leaf | undefined = own) => sample(part, fill, at, holder)
  switch (definition.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(definition.shape ?? {}).map(([name, part]) => [name, inner(part, `${path}.${name}`, own)]),
      )
    case 'array':
      return definition.element ? [inner(definition.element, `${path}[0]`)] : []
    case 'tuple':
      return (definition.items ?? []).map((part, at) => inner(part, `${path}[${at}]`))
    case 'record':
      return definition.valueType ? { entry: inner(definition.valueType, `${path}.entry`) } : {}
    case 'union':
      return definition.options?.[0] ? inner(definition.options[0]) : undefined
    case 'optional':
    case 'nullable':
      return definition.innerType && inner(definition.innerType)
    case 'string':
    case 'number':
      return fill(own)
    case 'enum':
      return Object.values(definition.entries ?? {})[0]
    case 'literal':
      return definition.values?.[0]
    default:
      return true
  }
}

const answers = routeList.flatMap((route) =>
  route.result && !route.relays ? [{ id: route.id, schema: route.result, place: answerPlace(route, 200) }] : [],
)

test.each(answers)('the journal shows no secret of an answer of $id, and all else', ({ schema, place }) => {
  expectHidden(schema, place, JSON.stringify)
})

test.each(routeList.flatMap((route) => (route.body ? [{ route, schema: route.body }] : [])))(
  'the journal shows no secret that $route.id takes, and all else',
  ({ route, schema }) => {
    expectHidden(schema, bodyPlace(route), JSON.stringify)
  },
)

test.each(routeList.flatMap((route) => (route.query ? [{ route, schema: route.query }] : [])))(
  'the journal shows no secret of a query of $route.id, and all else',
  ({ route, schema }) => {
    expectHidden(
      schema,
      queryPlace(route),
      (fields) => `/path?${new URLSearchParams(fields as Record<string, string>)}`,
    )
  },
)

function expectHidden(schema: FieldSchema, place: SchemaPlace, write: (value: unknown) => string): void {
  const texts = new Map<string, Leaf>()
  const value = sample(schema, (leaf) => {
    if (leaf.isNumber) return 17
    const text = `Text-${texts.size}-x`
    texts.set(text, leaf)
    return text
  })
  const shown = redact(write(value), place)
  for (const [text, { path, isSecret }] of texts) expect(shown.includes(text), path).toBe(!isSecret)
}

test.each(answers)('a repetition may differ in each generated field of $id, and in no other', ({ schema, place }) => {
  const leaves: Leaf[] = []
  const answer = (differs: (leaf: Leaf) => boolean) => ({
    status: 200,
    response: {
      headers: {},
      body: JSON.stringify(
        sample(schema, (leaf) => {
          leaves.push(leaf)
          return leaf.isSecret
            ? '[redacted]'
            : differs(leaf)
              ? leaf.isNumber
                ? 18
                : 'other'
              : leaf.isNumber
                ? 17
                : 'one'
        }),
      ),
    },
  })
  const same = answer(() => false)
  const open = [...leaves].filter(({ isSecret }) => !isSecret)
  const paths = (isGenerated: boolean) =>
    open.filter((leaf) => leaf.isGenerated === isGenerated).map(({ path }) => path)
  const generated = compareAnswers(
    same,
    answer(({ isGenerated }) => isGenerated),
    { place },
  )
  expect(generated.diff).toEqual([])
  expect(new Set(generated.ignored)).toEqual(new Set(paths(true)))
  const others = compareAnswers(
    same,
    answer(({ isGenerated }) => !isGenerated),
    { place },
  )
  expect(new Set(others.diff.map(({ path }) => path))).toEqual(new Set(paths(false)))
  expect(others.ignored).toEqual([])
})

/** Their tests expect nothing of them, or less of one field: what they tell is of one run, or of its keys. */
const LOOSE = [
  ...['listWebhookDeliveries', 'redeliverWebhook', 'listDeadLetters', 'readOutbox'],
  ...['readCoverage', 'rotateOidcKeys', 'linkWallet', 'listWallets'],
  ...['saveNamedState', 'listNamedStates', 'compareNamedStates'],
]

test.each(answers.filter(({ id }) => !LOOSE.includes(id)))(
  'a test expects each generated field and secret of $id by its shape, and others by their values',
  ({ id, schema, place }) => {
    const leaves = new Map<string, Leaf>()
    const body = sample(schema, (leaf) => {
      leaves.set(leaf.path, leaf)
      return leaf.isSecret ? '[redacted]' : leaf.isNumber ? 17 : 'one'
    })
    const entry = { operation_id: id, path: '/', at: '2031-05-01T12:00:00.000Z', request: { headers: {}, body: null } }
    const expecting = { known: new KnownValues(), place, isStored: () => false, entry: entry as never }
    const found = new Map<string, unknown>()
    const collect = (value: unknown, path: string): void => {
      if (Array.isArray(value)) for (const [at, each] of value.entries()) collect(each, `${path}[${at}]`)
      else if (typeof value === 'object' && value !== null && !(value instanceof Source))
        for (const [name, each] of Object.entries(value)) collect(each, `${path}.${name}`)
      else found.set(path, value)
    }
    collect(expectedAnswer(body, expecting), 'body')
    for (const [path, { isSecret, isGenerated, isNumber }] of leaves) {
      const value = found.get(path)
      if (isSecret || isGenerated) expect(value, path).toBeInstanceOf(Source)
      else expect(value, path).toBe(isNumber ? 17 : 'one')
    }
  },
)
