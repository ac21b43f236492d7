import { routeList } from '../../../scripts/route-table.js'
import { VERSION } from '../../../src/base/version.js'
import { evidenceOf, type Route } from '../../../src/http/route.js'
import { routeOf } from '../api.js'
import { type Exchange, type RecordedMessage, withoutSignatures } from './session.js'

/** A request and its answer, as JSON for any language. */
export interface Vector {
  readonly evidence: string
  readonly request: ReturnType<typeof shownRequest>
  readonly answer: ReturnType<typeof shownAnswer>
}

/** The vectors of a feature, by the ids of its operations. */
export interface VectorFile {
  readonly farthing: string
  readonly feature: string
  readonly base_url: string
  readonly operations: Readonly<Record<string, { readonly summary: string; readonly vectors: readonly Vector[] }>>
}

/** The vectors of each feature, by the name of its file. Of each operation, version and status, the fullest are kept. */
export function vectorFiles(exchanges: readonly Exchange[], baseUrl: string): Record<string, VectorFile> {
  const kept = new Map<string, Exchange>()
  for (const exchange of exchanges) {
    const key = keyOf(exchange)
    const known = key && kept.get(key)
    if (key && (!known || fullness(exchange) > fullness(known))) kept.set(key, exchange)
  }
  const inOrder = [...kept.values()].sort((a, b) => a.answer.status - b.answer.status || a.began - b.began)
  const vectorsOf = (id: string): Vector[] =>
    inOrder.filter(({ request }) => routeOf(request.method, request.path)?.route.id === id).map(vectorOf)
  const shown = routeList.filter(hasVectors)
  return Object.fromEntries(
    [...new Set(shown.map(({ tag }) => tag))].map((tag) => {
      const routes = shown.filter((route) => route.tag === tag)
      const operations = routes.map(({ id, summary }) => [id, { summary, vectors: vectorsOf(id) }])
      const file = { farthing: VERSION, feature: tag, base_url: baseUrl, operations: Object.fromEntries(operations) }
      return [`${tag.replaceAll(' ', '-')}.json`, file]
    }),
  )
}

/** Their answers are the whole state, or the OpenAPI document: too large to be an example. */
const WHOLE = ['readSnapshot', 'restoreSnapshot', 'exportNamedState', 'readOpenapi']

/** What clients in other languages do not call: pages, scripts and papers for people. */
const isForPeople = ({ produces }: Route): boolean =>
  produces !== undefined && !produces.some((type) => /json|csv|event-stream/.test(type))

/** Whether an operation has vectors. */
export const hasVectors = (route: Route): boolean => !isForPeople(route) && !WHOLE.includes(route.id)

/** Exchanges with one key show the same: an operation in a version, with a status, and a media type or the code of a refusal. */
function keyOf({ request, answer, turn }: Exchange): string | undefined {
  const found = routeOf(request.method, request.path)
  // A call that waits for something is repeated until it shows it.
  if (!found || turn.seed === undefined) return undefined
  const { code } = answer.status < 400 ? {} : (jsonIn(answer) ?? {})
  return [found.route.id, found.version, answer.status, code ?? answer.headers['content-type']].join(' ')
}

const fullness = ({ request, answer }: Exchange): number =>
  request.path.split(/[?&]/).length * 1e6 + request.text.length + answer.text.length

function vectorOf({ request, answer }: Exchange): Vector {
  const { route, version } = routeOf(request.method, request.path) as { route: Route; version: undefined } // Only such are kept.
  return { evidence: evidenceOf(route, version), request: shownRequest(request), answer: shownAnswer(answer) }
}

const shownRequest = (request: Exchange['request']) => {
  const { method, path, headers, text } = withoutSignatures(request)
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded')
  const form = isForm && { form: Object.fromEntries(new URLSearchParams(text)) }
  return { method, path, headers, ...(form || bodyOf({ headers, text })) }
}

const shownAnswer = (answer: Exchange['answer']) => {
  const { status, headers, text } = withoutSignatures(answer)
  return { status, headers, ...bodyOf({ headers, text }) }
}

/** JSON, or text for programs. Pages and pictures are for people. */
function bodyOf(message: RecordedMessage): { readonly body?: unknown; readonly text?: string } {
  const type = message.headers['content-type'] ?? ''
  if (message.text === '') return {}
  if (type.startsWith('application/json')) return { body: jsonIn(message) }
  return /^text\/(csv|markdown|plain)/.test(type) ? { text: message.text } : {}
}

function jsonIn({ text }: RecordedMessage): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
