import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import type { Evidence } from '../../src/base/evidence.js'
import { PAGE_CALL } from '../../src/base/page-call.js'
import { type ProblemCode, problemStatus } from '../../src/base/problem.js'
import { withoutWeak } from '../../src/http/fields/graded.js'
import { evidenceOf, isGraded, type Route, type Version } from '../../src/http/route.js'
import { errorsOf } from '../../src/http/routing/errors.js'
import type { Running } from '../runtimes/runtime.js'
import { documentFaults } from './contract/document-faults.js'
import { errorOf, recordAnswer, recordCall, statusOf, successOf } from './scenes/answers.js'
import { answerOf, requestOf } from './scenes/requests.js'

type Body = any

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown
  /** Sent as a form. */
  form?: Record<string, string>
  /** Sent unchanged. */
  raw?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
  token?: string
  session?: string
  headers?: Record<string, string>
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The body as JSON, or undefined. */
  body: Body
}

export type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>

type Called = Pick<Running, 'url' | 'fetch'> &
  Partial<Running> & {
    /** The name of the runtime, if it must pass the contract. */
    readonly runtime?: string
    /** The mode of the service. Default: `designed`. */
    readonly evidence?: Evidence | undefined
  }

/** Calls a running service and checks every answer against the route table: shape, status and declared errors. */
export const caller =
  ({ url, fetch, runtime, evidence = 'designed' }: Called): Call =>
  async (method, path, options = {}) => {
    const response = await fetch(requestOf(method, url + path, options))
    const answer = answerOf(response, await response.text())
    holdToTable(method, path, answer, { runtime, evidence: options.headers?.[PAGE_CALL] ? 'designed' : evidence })
    return answer
  }

/** The route that a path belongs to, by the table's own order. */
export function routeOf(method: string, path: string): { route: Route; version: Version | undefined } | undefined {
  const [pathname = ''] = path.split('?')
  const bare = pathname.replace(/\/+$/, '') || '/'
  return patterns.get(method)?.find(({ pattern }) => pattern.test(bare))
}

const listed = routeList.flatMap((route) =>
  (route.versions ?? [undefined]).map((version) => {
    const path = route.path.replace(/\./g, '\\.').replace(/:\w+/g, '[^/]+')
    return { route, version, pattern: new RegExp(`^${version ? `/${version}` : ''}${path}$`) }
  }),
)
const patterns = new Map<string, typeof listed>()
for (const each of listed) patterns.set(each.route.method, [...(patterns.get(each.route.method) ?? []), each])

const declared = new Map<Route, readonly ProblemCode[]>(routeList.map((route) => [route, errorsOf(route)]))

interface Checked {
  readonly runtime: string | undefined
  readonly evidence: Evidence
}

/** Like `expect(actual, what()).toBe(expected)`, which costs more than most calls when it holds. */
function holds<T>(actual: T, expected: T, what: () => string): void {
  if (!Object.is(actual, expected)) expect(actual, what()).toBe(expected)
}

/** Like `expect(list, what()).toContain(item)`. */
function lists<T>(list: readonly T[] | undefined, item: T, what: () => string): void {
  if (!list?.includes(item)) expect(list, what()).toContain(item)
}

/** Like `expect(actual, what()).toEqual(expected)`. */
function equals(actual: unknown, expected: unknown, what: () => string): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual, what()).toEqual(expected)
}

function holdToTable(method: string, path: string, answer: Answer, { runtime, evidence }: Checked): void {
  const found = routeOf(method === 'HEAD' ? 'GET' : method, path)
  if (!found || method === 'HEAD' || method === 'OPTIONS') return
  const { route, version } = found
  recordCall(route.id)
  recordAnswer(statusOf(answer.status), runtime)
  equals(documentFaults(found, answer, evidence), [], () => `${method} ${path} answers as the document says`)
  // What an upstream service answered is of the document, but not of the table.
  if (route.relays && answer.headers.get('content-security-policy')?.startsWith('sandbox')) {
    if (answer.status < 400) recordAnswer(successOf(route.id, version), runtime)
    return
  }
  holds(answer.headers.get('x-evidence'), evidenceOf(route, version), () => `${method} ${path} says its evidence`)
  const isPage = route.produces?.includes('text/html') && answer.headers.get('content-type')?.startsWith('text/html')
  const cached = (answer.status < 400 || isPage) && route.shareable ? 'no-cache' : 'private, no-store'
  holds(answer.headers.get('cache-control'), cached, () => `${method} ${path} says who may keep its answer`)
  // What is opened in a browser is refused with a page, which shows people no code.
  if (answer.status >= 400 && isPage) {
    lists(declared.get(route)?.map(problemStatus), answer.status, () => `${route.id} declares its status`)
    return
  }
  if (route.isJsonRpc && [400, 406].includes(answer.status) && answer.body?.jsonrpc === '2.0') return
  if (answer.status >= 400) {
    const type = answer.headers.get('content-type')
    const isProblem = type === 'application/problem+json' && answer.headers.has('www-authenticate')
    if (!isProblem) holds(type, 'application/json', () => `${method} ${path} is refused in JSON`)
    const { code, status, error } = answer.body
    holds(status, answer.status, () => `${method} ${path} repeats its status`)
    holds(typeof error, 'string', () => `${method} ${path} says what is wrong`)
    if (code === undefined && evidence !== 'designed') {
      lists(declared.get(route)?.map(problemStatus), answer.status, () => `${route.id} declares its status`)
      return
    }
    lists(declared.get(route), code, () => `${route.id} declares the error ${code}`)
    recordAnswer(errorOf(route.id, code), runtime)
    return
  }
  if (route.isJsonRpc && answer.status === 202 && answer.text === '') return
  const waits = answer.status === 202 ? route.waits : undefined
  if ((answer.status !== 303 || !route.redirects) && !waits)
    holds(answer.status, route.status ?? 200, () => `${route.id} declares its status`)
  const result = waits ?? route.result
  if (result && answer.body !== undefined && evidence !== 'designed' && isGraded(route))
    equals(answer.body, withoutWeak(result, answer.body, evidence), () => `${route.id} shows no weaker field`)
  else if (result && answer.body !== undefined) {
    const parsed = result.safeParse(answer.body)
    equals(parsed.error?.issues ?? [], [], () => `${route.id} answers as it declares`)
    // Parsing drops what a schema does not name, so this also refuses undeclared fields.
    equals(parsed.data, answer.body, () => `${route.id} answers no more than it declares`)
  }
  recordAnswer(successOf(route.id, version), runtime)
}
