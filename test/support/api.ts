import { expect } from 'vitest'
import { type ProblemCode, problemStatus } from '../../src/base/problem.js'
import { evidenceOf, type Route, type Version } from '../../src/http/route.js'
import { errorsOf } from '../../src/http/routing/errors.js'
import { routeList } from '../../src/routes.js'
import type { Running } from '../runtimes/runtime.js'
import { errorOf, recordAnswer, statusOf, successOf } from './scenes/answers.js'

type Body = any

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown
  /** Sent as a form. */
  form?: Record<string, string>
  /** Sent unchanged. */
  raw?: string | Uint8Array<ArrayBuffer>
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
  }

/** Calls a running service and checks every answer against the route table: shape, status and declared errors. */
export const caller =
  ({ url, fetch, runtime }: Called): Call =>
  async (method, path, { body, form, raw, token, session, headers = {} } = {}) => {
    const sent =
      raw ?? (form ? new URLSearchParams(form).toString() : body === undefined ? undefined : JSON.stringify(body))
    const type = form ? 'application/x-www-form-urlencoded' : body === undefined ? undefined : 'application/json'
    const request = new Request(url + path, {
      method,
      redirect: 'manual',
      headers: {
        ...(type && { 'content-type': type }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...(session && { 'x-session-id': session }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
    })
    const response = await fetch(request)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text ? JSON.parse(text) : undefined,
    }
    holdToTable(method, path, answer, runtime)
    return answer
  }

/** The route that a path belongs to, by the table's own order. */
export function routeOf(method: string, path: string): { route: Route; version: Version | undefined } | undefined {
  const [pathname = ''] = path.split('?')
  const bare = pathname.replace(/\/+$/, '') || '/'
  return patterns.find(({ route, pattern }) => route.method === method && pattern.test(bare))
}

const patterns = routeList.flatMap((route) =>
  (route.versions ?? [undefined]).map((version) => {
    const path = route.path.replace(/\./g, '\\.').replace(/:\w+/g, '[^/]+')
    return { route, version, pattern: new RegExp(`^${version ? `/${version}` : ''}${path}$`) }
  }),
)

const declared = new Map<Route, readonly ProblemCode[]>(routeList.map((route) => [route, errorsOf(route)]))

function holdToTable(method: string, path: string, answer: Answer, runtime: string | undefined): void {
  const found = routeOf(method === 'HEAD' ? 'GET' : method, path)
  if (!found || method === 'HEAD' || method === 'OPTIONS') return
  const { route, version } = found
  recordAnswer(statusOf(answer.status), runtime)
  // What an upstream service answered is not of the table.
  if (route.relays && answer.headers.get('content-security-policy')?.startsWith('sandbox')) return
  expect(answer.headers.get('x-evidence'), `${method} ${path} says its evidence`).toBe(evidenceOf(route, version))
  const isPage = route.produces?.includes('text/html') && answer.headers.get('content-type')?.startsWith('text/html')
  const cached = (answer.status < 400 || isPage) && route.shareable ? 'no-cache' : 'private, no-store'
  expect(answer.headers.get('cache-control'), `${method} ${path} says who may keep its answer`).toBe(cached)
  // What is opened in a browser is refused with a page, which shows people no code.
  if (answer.status >= 400 && isPage) {
    expect(declared.get(route)?.map(problemStatus), `${route.id} declares its status`).toContain(answer.status)
    return
  }
  if (answer.status >= 400) {
    expect(answer.headers.get('content-type')).toBe('application/json')
    const { code, status, error } = answer.body
    expect(status).toBe(answer.status)
    expect(error).toEqual(expect.any(String))
    expect(declared.get(route), `${route.id} declares the error ${code}`).toContain(code)
    recordAnswer(errorOf(route.id, code), runtime)
    return
  }
  const waits = answer.status === 202 ? route.waits : undefined
  if ((answer.status !== 303 || !route.redirects) && !waits)
    expect(answer.status, `${route.id} declares its status`).toBe(route.status ?? 200)
  const result = waits ?? route.result
  if (result && answer.body !== undefined) {
    const parsed = result.safeParse(answer.body)
    expect(parsed.error?.issues ?? [], `${route.id} answers as it declares`).toEqual([])
    // Parsing drops what a schema does not name, so this also refuses undeclared fields.
    expect(parsed.data).toEqual(answer.body)
  }
  recordAnswer(successOf(route.id, version), runtime)
}
