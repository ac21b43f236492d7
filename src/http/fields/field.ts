import type * as z from 'zod/mini'
import { type Problem, problem } from '../../base/problem.js'
import { nearestName, suggestName } from '../../base/text/nearest-name.js'
import { type FieldSchema, fieldNames, partsOf, type SchemaPlace } from './marks.js'

/** Problems of invalid fields, which name the field and say what it must be. */

export const fieldRefused = (field: string, what: string, hint = '', facts: FieldFacts = {}): Problem =>
  problem('field_invalid', { detail: `"${field}" ${what}.${hint}`, fields: { field }, facts })

/** What the field must be, its type, or the name of the field that it was meant to be. */
type FieldFacts = { readonly [Name in 'must' | 'type' | 'meant']?: string | undefined }

/** What is wrong with a value. `what` completes a sentence that begins with the path, and `hint` follows it. */
export interface FieldFault {
  readonly path: readonly PropertyKey[]
  readonly what: string
  readonly hint: string
  readonly facts?: FieldFacts
}

/** Checks a value against a schema. Throws `field_invalid`, which names the field. */
export function checkShape<S extends z.ZodMiniType>(schema: S, value: unknown): z.output<S> {
  // What `safeParse` does first, without its result object.
  const parsed = schema._zod.run({ value, issues: [] }, SYNC)
  if (!(parsed instanceof Promise) && parsed.issues.length === 0) return parsed.value as z.output<S>
  const checked = schema.safeParse(value)
  if (!checked.success) throw fieldProblem(schema, checked.error.issues, value)
  return checked.data
}

const SYNC = { async: false }

/**
 * Describes the unknown fields of a value, or its first fault: `seed.users[0].balnce is not a field. Did you mean "balance"?`.
 * Undefined if it fits the schema.
 */
export function describeFault(schema: z.ZodMiniType, value: unknown, within = ''): string | undefined {
  const { error } = schema.safeParse(value)
  if (!error) return undefined
  const [{ path, what, hint }, others] = faultsOf(schema, error.issues, value)
  const all = hint + othersText(others, (other) => writtenPath(within, other))
  return `${writtenPath(within, path)} ${what}${all === '' ? '' : `.${all}`}`.trim()
}

/** A path as JavaScript writes it: `seed.users[0].balance`. */
const writtenPath = (within: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>((at, part) => {
    if (typeof part === 'number') return `${at}[${part}]`
    return at === '' ? String(part) : `${at}.${String(part)}`
  }, within)

/** The problem for what a schema found wrong. `within`: the field that contains the fields. */
export function fieldProblem(
  schema: z.ZodMiniType,
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  within?: string,
): Problem {
  const [{ path, what, hint, facts }, others] = faultsOf(schema, issues, value)
  const nameOf = (at: FieldFault['path']) => [...(within === undefined ? [] : [within]), ...at.map(String)].join('.')
  return nameOf(path) === ''
    ? problem('field_invalid', { detail: `The fields ${what}.` })
    : fieldRefused(nameOf(path), what, hint + othersText(others, (other) => `"${nameOf(other)}"`), facts)
}

/** How many unknown fields a sentence names. */
const MOST_UNKNOWN = 5

/** The unknown fields, because a misspelled field is also a missing one. Without any: what is wrong first. */
function faultsOf(
  schema: z.ZodMiniType,
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
): [first: FieldFault, others: readonly FieldFault[]] {
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((name) => ({ path: issue.path, name })) : [],
  )
  const [first, ...others] = unknown.slice(0, MOST_UNKNOWN).map(({ path, name }): FieldFault => {
    const names = namesAt(schema, path)
    const facts = { meant: nearestName(name, names) }
    return { path: [...path, name], what: 'is not a field', hint: suggestName(name, names), facts }
  })
  return first ? [first, others] : [invalidFault(issues, value), []]
}

const othersText = (faults: readonly FieldFault[], nameOf: (path: FieldFault['path']) => string): string =>
  faults.map(({ path, what, hint }) => ` ${nameOf(path)} ${what}.${hint}`).join('')

function invalidFault([first]: readonly z.core.$ZodIssue[], value: unknown): FieldFault {
  if (!first) return { path: [], what: 'are invalid', hint: '' }
  const issue = withinUnion(first)
  const { path } = issue
  const isMissing = path.length > 0 && valueAt(value, path) === undefined
  const must = expected(issue)
  const facts = { must, type: issue.code === 'invalid_type' ? issue.expected : undefined }
  return { path, what: `${isMissing ? 'is missing: it ' : ''}must be ${must}`, hint: '', facts }
}

/**
 * What is wrong in the branch of a union that is meant: it takes the kind of value, and has the fewest other values where
 * branches are told apart, and the fewest faults. The issue itself if no branch takes such a value at all.
 */
function withinUnion(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union') return issue
  const branches = issue.errors.filter((branch) => branch.length > 0 && branch.every(({ path }) => path.length > 0))
  const [meant] = branches.toSorted((a, b) => others(a) - others(b) || a.length - b.length)
  const [fault] = meant ?? []
  if (!meant || !fault) return issue
  const path = [...issue.path, ...fault.path]
  if (fault.code !== 'invalid_value') return withinUnion({ ...fault, path })
  // Where no branch has the value, each one's is possible.
  const same = branches.map((branch) => branch.find((each) => isSamePath(each.path, fault.path)))
  const values = same.flatMap((each) => (each?.code === 'invalid_value' ? each.values : []))
  return { ...fault, path, values: same.every((each) => each?.code === 'invalid_value') ? values : fault.values }
}

const others = (branch: readonly z.core.$ZodIssue[]): number =>
  branch.filter(({ code }) => code === 'invalid_value').length

const isSamePath = (one: readonly PropertyKey[], other: readonly PropertyKey[]): boolean =>
  one.length === other.length && one.every((part, at) => part === other[at])

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((at, part) => (at as Partial<Record<PropertyKey, unknown>> | null | undefined)?.[part], value)

const namesAt = (schema: FieldSchema, path: readonly PropertyKey[]): string[] =>
  path.reduce<SchemaPlace>((place, part) => partsOf(place, String(part)), [schema]).flatMap(fieldNames)

/** Completes the sentence "it must be …". */
function expected(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return article(issue.expected === 'int' ? 'integer' : issue.expected)
    case 'too_small':
      return `at least ${issue.minimum}${issue.origin === 'string' ? ' characters' : ''}`
    case 'too_big':
      return `at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`
    case 'invalid_value':
      return oneOf(issue.values)
    case 'invalid_union': {
      const firsts = issue.errors.flatMap((branch) => branch[0] ?? [])
      const values = firsts.flatMap((each) => (each.code === 'invalid_value' ? each.values : []))
      const kinds = firsts.filter(({ code }) => code !== 'invalid_value').map(expected)
      const all = [...new Set(kinds), ...(values.length > 0 ? [oneOf(values)] : [])]
      return all.join(' or ') || 'of another form'
    }
    case 'invalid_format':
      // A schema may describe its format in place of zod's own message.
      return issue.message === 'Invalid input' ? 'of another form' : issue.message
    case 'custom':
      return issue.message
    default:
      return 'of another form'
  }
}

const oneOf = (values: readonly z.core.util.Primitive[]): string =>
  `one of ${[...new Set(values)].map((value) => JSON.stringify(value)).join(', ')}`

const article = (noun: string) => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
