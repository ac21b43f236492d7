import * as z from 'zod/mini'
import { VERSION } from '../../../src/base/version.js'
import type { Example } from '../../../src/http/openapi/document.js'
import type { Route } from '../../../src/http/route.js'
import { routeOf } from '../api.js'

/** Keeps one example of each operation that succeeds: the fullest call. */

type Json = Readonly<Record<string, unknown>>

/** Operations without an example: they show or take the whole state, which is too large. */
const WHOLE_STATE = ['readSnapshot', 'restoreSnapshot', 'exportNamedState']
const LONGEST_LIST = 2
const LONGEST_TEXT = 300
/** An id token whose signature is none: real ones differ on every run. */
const UNSIGNED = 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl'

/** Whether an operation has fields to show: a JSON body, a query or a JSON answer. */
export const hasExample = ({ id, body, result, scope }: Route): boolean =>
  scope !== 'meta' && Boolean(body || result) && !WHOLE_STATE.includes(id)

export class Recorder {
  readonly #examples = new Map<string, Example>()

  /** Passes a request on. Keeps what was sent and answered if it succeeded. */
  async pass(request: Request, fetch: (request: Request) => Promise<Response>): Promise<Response> {
    const sent = await fieldsOf(request.clone())
    const response = await fetch(request)
    const { pathname, search } = new URL(request.url)
    const found = routeOf(request.method, pathname)
    const isRelayed = response.headers.get('content-security-policy')?.startsWith('sandbox')
    if (!found || response.status >= 400 || !hasExample(found.route)) return response
    const { route } = found
    // What an upstream service answers is not of the operation.
    const answer =
      response.status === (route.status ?? 200) && !isRelayed ? await fieldsOf(response.clone()) : undefined
    const params = valuesFor(route.params, pathValues(route, pathname))
    const query = valuesFor(route.query, Object.fromEntries(new URLSearchParams(search)))
    const example: Example = {
      ...(params && { params }),
      ...(query && { query }),
      ...(route.body && sent !== undefined && { body: sent }),
      ...(route.result && answer !== undefined && { answer }),
    }
    const shown = shorter(example) as Example
    const known = this.#examples.get(route.id)
    if (!known || fullness(shown) > fullness(known)) this.#examples.set(route.id, shown)
    return response
  }

  /** The examples in the order of the given routes. */
  examples(routes: readonly Route[]): Record<string, Example> {
    const kept = routes.flatMap(({ id }) => {
      const example = this.#examples.get(id)
      return example ? [[id, example] as const] : []
    })
    return Object.fromEntries(kept)
  }
}

/** One line for each operation, so that a change of one shows as one. */
export const fileOf = (examples: Record<string, Example>): string =>
  `{\n${Object.entries(examples)
    .map(([id, example]) => `${JSON.stringify(id)}:${JSON.stringify(example)}`)
    .join(',\n')}\n}\n`

const parts = (example: Example): number => Object.keys(example).length
const fullness = (example: Example): number => parts(example) * 1e6 + JSON.stringify(example).length

async function fieldsOf(message: Request | Response): Promise<Json | undefined> {
  const type = message.headers.get('content-type') ?? ''
  if (type.startsWith('application/x-www-form-urlencoded'))
    return Object.fromEntries(new URLSearchParams(await message.text()))
  if (!type.startsWith('application/json')) return undefined
  const text = await message.text()
  return text === '' ? undefined : JSON.parse(text, steady)
}

function pathValues({ path }: Route, pathname: string): Record<string, string> {
  const names = path.split('/').reverse()
  const values = pathname.replace(/\/$/, '').split('/').reverse()
  return Object.fromEntries(
    names.flatMap((name, at) => {
      const [, param, end = ''] = /^:(\w+)(.*)$/.exec(name) ?? []
      const value = decodeURIComponent(values[at] ?? '')
      return param === undefined ? [] : [[param, end === '' ? value : value.slice(0, -end.length)]]
    }),
  )
}

/** The fields that a schema names, as numbers where it takes no text. */
function valuesFor(
  schema: Route['params'],
  values: Record<string, string>,
): Record<string, string | number> | undefined {
  const fields: Readonly<Record<string, z.core.$ZodType>> = schema?.shape ?? {}
  const typed = Object.entries(values).flatMap(([name, value]) => {
    const field = fields[name]
    return field ? [[name, z.safeParse(field, value).success ? value : Number(value)] as const] : []
  })
  return typed.length > 0 ? Object.fromEntries(typed) : undefined
}

/** Cuts long texts and lists, and replaces what differs on every run or release: signatures, keys and our version. */
function shorter(value: unknown): unknown {
  if (typeof value === 'string') {
    if (/^ey[\w-]+\.[\w-]+\.[\w-]+$/.test(value)) return UNSIGNED
    if (value === VERSION) return '1.0.0'
    // Deliveries have entries too, so these ids depend on what was faster.
    if (/^req_[\da-f]{16}_\d{7}$/.test(value)) return 'req_2101c54fd1d01ab2_0000042'
    return value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT - 1)}…` : value
  }
  if (Array.isArray(value)) return value.slice(0, LONGEST_LIST).map(shorter)
  if (typeof value !== 'object' || value === null) return value
  const isKey = 'kty' in value
  const entries = Object.entries(value).map(([name, part]) => [
    name,
    (isKey && ['x', 'y', 'n', 'kid'].includes(name)) || name === 'kids' ? example(name, part) : shorter(part),
  ])
  return Object.fromEntries(entries)
}

const example = (name: string, part: unknown): string | string[] =>
  Array.isArray(part) ? part.map((_, at) => `example-${at + 1}`) : `example-${name}`

/** How long a request took differs each time. */
const steady = (name: string, value: unknown): unknown => (name === 'ms' && typeof value === 'number' ? 1 : value)
