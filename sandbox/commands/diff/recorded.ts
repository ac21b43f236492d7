import { parsedJson } from '../../../src/base/json.js'
import { isObject } from '../../../src/storage/unknown.js'
import { type DescribedOperation, keyOf } from './described.js'
import { either, type Json, type Shape, type ShapeProperty, shapeOfValue } from './shape.js'

export type RecordedSession = { readonly operations: DescribedOperation[]; readonly skipped: number }

/** The operations that a recorded session (HAR 1.2) shows. Each request is matched to one of `ours`. */
export function operationsOfSession(entries: readonly unknown[], ours: readonly DescribedOperation[]): RecordedSession {
  const matcher = new Matcher(ours)
  const recorded = new Map<string, DescribedOperation>()
  let skipped = 0
  for (const entry of entries) {
    const read = readEntry(entry)
    const path = read && matcher.pathOf(read)
    if (!read || path === undefined) {
      skipped++
      continue
    }
    const key = keyOf(read.method, path)
    const shown = shownBy(read, path)
    const known = recorded.get(key)
    recorded.set(key, known ? merged(known, shown) : shown)
  }
  return { operations: [...recorded.values()], skipped }
}

interface RecordedEntry {
  readonly method: string
  readonly url: URL
  readonly body: unknown
  readonly status: number
  readonly answer: unknown
  readonly isJson: boolean
}

function readEntry(entry: unknown): RecordedEntry | undefined {
  const { request, response } = isObject(entry) ? entry : {}
  if (!isObject(request) || !isObject(response)) return undefined
  const { method, url, postData } = request
  const { status, content } = response
  if (typeof method !== 'string' || typeof url !== 'string' || !URL.canParse(url)) return undefined
  // Browsers ask for permission with OPTIONS. A status of 0: no answer came.
  if (typeof status !== 'number' || status === 0 || !/^(GET|POST|PUT|PATCH|DELETE)$/.test(method)) return undefined
  const isJson = isObject(content) && /json/.test(String(content.mimeType))
  return {
    ...{ method, status, isJson },
    url: new URL(url),
    body: isObject(postData) ? fieldsIn(postData) : undefined,
    answer: isJson ? parsedAnswer(content.encoding === 'base64' ? decoded(content.text) : content.text) : undefined,
  }
}

function fieldsIn({ mimeType, text, params }: Json): unknown {
  if (/json/.test(String(mimeType))) return parsedAnswer(text)
  if (!/form-urlencoded/.test(String(mimeType))) return undefined
  if (typeof text === 'string') return Object.fromEntries(new URLSearchParams(text))
  const pairs = Array.isArray(params) ? params.filter(isObject) : []
  return Object.fromEntries(pairs.map(({ name, value }) => [String(name), value]))
}

const parsedAnswer = (text: unknown): unknown => (typeof text === 'string' ? parsedJson(text) : undefined)

const decoded = (text: unknown): string => Buffer.from(String(text), 'base64').toString('utf8')

class Matcher {
  readonly #known: readonly { readonly method: string; readonly path: string; readonly pattern: RegExp }[]

  constructor(ours: readonly DescribedOperation[]) {
    const parameters = (path: string) => path.split('{').length
    this.#known = [...ours]
      // What is written out goes before what has a parameter there.
      .sort((a, b) => parameters(a.path) - parameters(b.path))
      .map(({ method, path }) => ({ method, path, pattern: patternOf(path) }))
  }

  /** The path as the document writes it, or as it was called if it is not there. Undefined: it is not about the service. */
  pathOf({ method, url: { pathname }, isJson }: RecordedEntry): string | undefined {
    // The recorded service may be below a path.
    const below = /\/(?:v\d+|mcp|_sandbox|\.well-known|docs\/errors)(?:\/.*|$)/.exec(pathname)?.[0]
    for (const path of [pathname, below]) {
      const found = this.#known.find((known) => known.method === method && path && known.pattern.test(path))
      if (found) return found.path
    }
    return isJson || below ? (below ?? pathname).replace(ids, '/{id}') : undefined
  }
}

/** Parts of a path that look like ids: numbers, and long texts of hex digits. */
const ids = /\/(?:\d+|(?:\w+_)?[\da-f-]{16,})(?=\/|$)/gi
const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^{}]*\}/g, '[^/]+')}/?$`)

/** What one request shows of its operation. A refused request says nothing about the fields that the service takes. */
function shownBy({ method, url, body, status, answer }: RecordedEntry, path: string): DescribedOperation {
  const isRefused = status >= 400
  const query = isRefused ? [] : [...url.searchParams.keys()]
  const text: ShapeProperty = { shape: { types: new Set(), properties: new Map() }, isRequired: true }
  return {
    ...{ method, path },
    parameters: new Map(query.map((name) => [`query ${name}`, text])),
    body: body === undefined || isRefused ? undefined : shapeOfValue(body),
    answers: new Map([[String(status), answer === undefined || isRefused ? undefined : shapeOfValue(answer)]]),
  }
}

function merged(one: DescribedOperation, other: DescribedOperation): DescribedOperation {
  const answers = new Map(one.answers)
  for (const [status, answer] of other.answers) answers.set(status, eitherOf(answers.get(status), answer))
  return {
    ...one,
    parameters: new Map([...one.parameters, ...other.parameters]),
    body: eitherOf(one.body, other.body),
    answers,
  }
}

const eitherOf = (one: Shape | undefined, other: Shape | undefined): Shape | undefined =>
  one && other ? either(one, other) : (one ?? other)
