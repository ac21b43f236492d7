import type * as z from 'zod/mini'
import { type Problem, problem } from '../problem.js'

/** What the runtime knows of a request beyond the `Request` itself. */
export interface BodySource {
  /** The body of a GET, which a `Request` cannot carry; undefined when it is larger than `limit` bytes. */
  readonly body?: (limit: number) => Promise<string | undefined>
}

type Fields = Record<string, unknown>

/** The fields that a JSON or form body holds. Throws body_malformed, body_too_large or content_type_refused. */
export async function readFields(request: Request, limit: number, source: BodySource): Promise<Fields> {
  const text = source.body ? await source.body(limit) : await readText(request, limit)
  if (text === undefined) throw tooLarge(limit)
  if (text === '') return {}
  const type = mediaType(request.headers.get('content-type'))
  if (type === 'application/json' || type.endsWith('+json')) return jsonFields(text)
  if (type === 'application/x-www-form-urlencoded') return formFields(text)
  throw problem('content_type_refused')
}

async function readText(request: Request, limit: number): Promise<string> {
  const announced = request.headers.get('content-length')
  if (announced !== null && Number(announced) > limit) throw tooLarge(limit)
  // An announced length is kept to by the runtime, so the quick way is safe; otherwise count while reading.
  if (announced !== null) return request.text()
  if (!request.body) return ''
  const decoder = new TextDecoder()
  const reader = request.body.getReader()
  let text = ''
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.byteLength
    if (size > limit) {
      await reader.cancel()
      throw tooLarge(limit)
    }
    text += decoder.decode(value, { stream: true })
  }
}

const mediaType = (header: string | null): string => (header?.split(';')[0] ?? '').trim().toLowerCase()

const tooLarge = (limit: number) => problem('body_too_large', { detail: `The limit is ${limit} bytes.` })

function jsonFields(text: string): Fields {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw problem('body_malformed', { detail: 'It is not JSON.', cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw problem('body_malformed', { detail: 'It must be a JSON object.' })
  return value as Fields
}

function formFields(text: string): Fields {
  return stringFields(new URLSearchParams(text))
}

export function stringFields(pairs: Iterable<[string, string]>): Fields {
  const fields: Fields = Object.create(null)
  for (const [name, value] of pairs) {
    if (name in fields)
      throw problem('field_invalid', { detail: `"${name}" is given more than once.`, fields: { field: name } })
    fields[name] = new Written(value)
  }
  return fields
}

/** A value that came as text, where JSON would have had a type. */
class Written {
  constructor(readonly text: string) {}
}

/** Checks fields against a schema. Text from a query, path or form is read as the type that its field asks for. */
export function checkFields(schema: z.ZodMiniObject, fields: Fields): Record<string, unknown> {
  const typed: Fields = {}
  for (const name of Object.keys(schema.shape)) {
    const value = fields[name]
    if (value !== undefined) typed[name] = value instanceof Written ? readAs(schema.shape[name], value.text) : value
  }
  const checked = schema.safeParse(typed)
  if (!checked.success) throw fieldProblem(checked.error.issues[0] as z.core.$ZodIssue, typed)
  return checked.data
}

function readAs(schema: z.core.$ZodType | undefined, text: string): unknown {
  const kind = baseKind(schema)
  if (kind === 'number' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text)
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

interface Definition {
  type: string
  innerType?: z.core.$ZodType
}

function baseKind(schema: z.core.$ZodType | undefined): string | undefined {
  const definition = schema?._zod.def as Definition | undefined
  return definition?.innerType ? baseKind(definition.innerType) : definition?.type
}

function fieldProblem(issue: z.core.$ZodIssue, fields: Fields): Problem {
  const field = issue.path.map(String).join('.')
  const missing = issue.path.length === 1 && fields[field] === undefined
  const detail = missing
    ? `"${field}" is missing: it must be ${expected(issue)}.`
    : `"${field}" must be ${expected(issue)}.`
  return problem('field_invalid', { detail, fields: { field } })
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
    default:
      return 'of another form'
  }
}

const article = (noun: string) => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
