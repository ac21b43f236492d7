import { expect } from 'vitest'
import { errorsOf } from '../../src/http/errors.js'
import type { Route, Version } from '../../src/http/route.js'
import type { ProblemCode } from '../../src/problem.js'
import { routes } from '../../src/routes.js'
import type { Running } from '../runtimes.js'

type Body = any

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown
  /** Sent as a form. */
  form?: Record<string, string>
  /** Sent as it is. */
  raw?: string
  token?: string
  session?: string
  headers?: Record<string, string>
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The body read as JSON, or undefined. */
  body: Body
}

export type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>

/** Calls a running service and holds every answer to the route table: shape, status and declared errors. */
export const caller =
  ({ url, fetch }: Running): Call =>
  async (method, path, { body, form, raw, token, session, headers = {} } = {}) => {
    const sent =
      raw ?? (form ? new URLSearchParams(form).toString() : body === undefined ? undefined : JSON.stringify(body))
    const type = form ? 'application/x-www-form-urlencoded' : body === undefined ? undefined : 'application/json'
    const request = new Request(url + path, {
      method,
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
    holdToTable(method, path, answer)
    return answer
  }

/** The route that a path belongs to, by the table's own order. */
export function routeOf(method: string, path: string): { route: Route; version: Version | undefined } | undefined {
  const [pathname = ''] = path.split('?')
  const bare = pathname.replace(/\/+$/, '') || '/'
  for (const route of routes)
    for (const version of route.versions ?? [undefined]) {
      const pattern = `^${version ? `/${version}` : ''}${route.path.replace(/\./g, '\\.').replace(/:\w+/g, '[^/]+')}$`
      if (route.method === method && new RegExp(pattern).test(bare)) return { route, version }
    }
  return undefined
}

function holdToTable(method: string, path: string, answer: Answer): void {
  const found = routeOf(method === 'HEAD' ? 'GET' : method, path)
  if (!found || method === 'HEAD' || method === 'OPTIONS') return
  const { route } = found
  expect(answer.headers.get('x-evidence'), `${method} ${path} says its evidence`).not.toBeNull()
  if (answer.status >= 400) {
    const { code, status, error } = answer.body
    expect(status).toBe(answer.status)
    expect(error).toEqual(expect.any(String))
    expect(errorsOf(route) as ProblemCode[], `${route.id} declares the error ${code}`).toContain(code)
    return
  }
  expect(answer.status, `${route.id} declares its status`).toBe(route.status ?? 200)
  if (route.result && answer.body !== undefined) {
    const parsed = route.result.safeParse(answer.body)
    expect(parsed.error?.issues ?? [], `${route.id} answers as it declares`).toEqual([])
    // Parsing drops what a schema does not name, so this also refuses undeclared fields.
    expect(parsed.data).toEqual(answer.body)
  }
}
