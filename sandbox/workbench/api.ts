import { parsedJson } from '../../src/base/json.js'
import type { RowPage, ShownRow } from '../../src/sandbox/controls/rows.js'

/** The calls of the workbench: public operations and controls only. */

/** Where the service answers that this page shows: the sandbox, or one of its forks. */
export const base = new URL(document.getElementById('app')?.dataset.service ?? './', document.baseURI)

/** The same without a trailing slash, as people pass it on. */
export const address = base.href.replace(/\/$/, '')

export const urlOf = (path: string): string => new URL(path.replace(/^\//, ''), base).href

/** Marks the workbench's own calls, which the live view leaves out. */
export const TOOL_HEADER = 'x-farthing-tool'

export interface Answer {
  readonly ok: boolean
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows what it asked for
  readonly body: any
  readonly id: string | null
}

interface Call {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the live view shows it: what a person does by hand, such as a payment. */
  readonly isShown?: boolean
}

/** Calls the service. Never rejects: without an answer, the status is 0. */
export async function call(
  method: string,
  path: string,
  { body, headers, isShown = false }: Call = {},
): Promise<Answer> {
  const sent = {
    ...(!isShown && { [TOOL_HEADER]: 'workbench' }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  }
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  try {
    const answer = await fetch(urlOf(path), { method, headers: sent, cache: 'no-store', ...text })
    const read = await answer.text()
    const body = parsedJson(read) ?? read
    return { ok: answer.ok, status: answer.status, body, id: answer.headers.get('x-request-id') }
  } catch {
    return { ok: false, status: 0, body: { error: 'The sandbox does not answer. Is it still running?' }, id: null }
  }
}

/** Why a call failed, in a sentence that says what to do. */
export const whyNot = ({ status, body }: Answer): string =>
  body?.code === 'sandbox_refused'
    ? 'This sandbox asks for its control token. Open the link to the workbench that it prints when it starts.'
    : (body?.error ?? `The sandbox answered ${status}.`)

export type Row = ShownRow

/** Reads rows as they are stored. */
export async function readRows(collection: string, query: Readonly<Record<string, string>> = {}): Promise<RowPage> {
  const { ok, body } = await call('GET', `_sandbox/rows/${collection}?${new URLSearchParams(query)}`)
  return ok ? body : { rows: [], next: null }
}

/** A bearer token of a seeded client. */
export async function tokenOf(
  kind: 'account' | 'user',
  { client_id, client_secret }: { readonly client_id: string; readonly client_secret: string },
): Promise<string | undefined> {
  const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
  const { ok, body } = await call('POST', `v4/${kind}/oauth/token`, { headers: { authorization } })
  return ok ? body.access_token : undefined
}

/** Headers that identify any caller: `account:1`, `user:2`. With a session, a user's calls are those of a browser. */
export async function headersAs(principal: string, by?: 'session'): Promise<Readonly<Record<string, string>>> {
  const { ok, body } = await call('POST', '_sandbox/act-as', { body: { principal, ...(by && { by }) } })
  return ok ? body.headers : {}
}
