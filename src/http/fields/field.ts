import type * as z from 'zod/mini'
import { type Problem, problem } from '../../base/problem.js'

/** Problems of invalid fields, which name the field and say what it must be. */

export const fieldRefused = (field: string, what: string): Problem =>
  problem('field_invalid', { detail: `"${field}" ${what}.`, fields: { field } })

/** The problem for the first issue that a schema found. `within`: the field that contains the fields. */
export function fieldProblem(
  issue: z.core.$ZodIssue | undefined,
  fields: Readonly<Record<string, unknown>>,
  within?: string,
): Problem {
  if (!issue) return problem('field_invalid')
  const path = issue.path.map(String)
  const field = [...(within === undefined ? [] : [within]), ...path].join('.')
  if (issue.code === 'unrecognized_keys') return fieldRefused(field, `must not contain ${issue.keys.join(', ')}`)
  const [first] = path
  const missing = first !== undefined && path.length === 1 && fields[first] === undefined
  return fieldRefused(field, `${missing ? 'is missing: it ' : ''}must be ${expected(issue)}`)
}

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
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    case 'invalid_union':
      return (
        issue.errors
          .flatMap((branch) => branch[0] ?? [])
          .map(expected)
          .join(' or ') || 'of another form'
      )
    case 'invalid_format':
      // A schema may describe its format in place of zod's own message.
      return issue.message === 'Invalid input' ? 'of another form' : issue.message
    case 'custom':
      return issue.message
    default:
      return 'of another form'
  }
}

const article = (noun: string) => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
