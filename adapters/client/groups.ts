import { type Connection, pause, perform } from './call.js'
import type { Signer } from './credentials.js'
import type { CallOptions, ItemOf, List, Outcome } from './interface.js'
import { nameOf } from './naming.js'
import { clientOperations } from './operations.js'
import { Refusal } from './refusal.js'
import { type Endpoint, endpointsOf, isWeaker, type Sent } from './request.js'

type Run = (sent: Sent, as?: Endpoint) => Promise<unknown>
type Method = (...call: unknown[]) => unknown
const endpoints = clientOperations.flatMap(endpointsOf)

/** The operations of a client in their groups, without those that are too weak for it. */
export function groupsOf(connection: Connection, signer: Signer): Record<string, Record<string, unknown>> {
  const groups: Record<string, Record<string, unknown>> = {}
  for (const endpoint of endpoints) {
    if (isWeaker(endpoint.grade, connection.evidence)) continue
    const { group, method } = nameOf(endpoint.id)
    groups[group] ??= {}
    const run: Run = (sent, as = endpoint) => perform(connection, signer, as, sent)
    groups[group][method] = operationOf(endpoint, `${group}.${method}`, run)
    if (endpoint.follows) groups[group].follow = followOf(endpoint, `${group}.follow`, run)
  }
  return groups
}

function operationOf(endpoint: Endpoint, name: string, run: Run): Method {
  const call = async (args: unknown[]) => run(readArguments(endpoint, name, args))
  const list = (args: unknown[], by: 'after' | 'offset') => {
    const sent = readArguments(endpoint, name, args)
    return listOf(typeof sent.fields === 'object' ? sent.fields : {}, by, (fields) => run({ ...sent, fields }))
  }
  const method: Method = (...args) => (endpoint.pages ? list(args, endpoint.pages) : call(args))
  return Object.assign(method, {
    try: (...args: unknown[]) => outcomeOf(call(args)),
    refused: (error: unknown) => error instanceof Refusal && error.operation === endpoint.id,
  })
}

function followOf(endpoint: Endpoint, name: string, run: Run): Method {
  const stream = { ...endpoint, raw: true, accept: 'text/event-stream' } as const
  return (...args) => {
    const sent = readArguments(endpoint, name, args)
    const { after, ...fields } = typeof sent.fields === 'object' ? sent.fields : {}
    const { headers, signal } = sent.options
    return follow({
      from: async () => String(after ?? newestIn(await run({ ...sent, fields: { limit: 1 } }))),
      open: async (id) => {
        const options = { ...sent.options, headers: { ...headers, 'last-event-id': id } }
        return (await run({ ...sent, fields, options }, stream)) as Response // Because it is `raw`.
      },
      signal,
    })
  }
}

/** Without events, what follows begins with the first. */
const newestIn = (page: unknown): unknown => (itemsOf(page as object)[0] as { id: unknown } | undefined)?.id ?? 0 // A page of events.

async function outcomeOf(answer: Promise<unknown>): Promise<Outcome<unknown, Refusal>> {
  try {
    return { ok: true, value: await answer }
  } catch (refusal) {
    if (refusal instanceof Refusal) return { ok: false, refusal }
    throw refusal
  }
}

const optionNames: ReadonlySet<string> = new Set<keyof CallOptions>(['signal', 'idempotencyKey', 'retries', 'headers'])

/** Path parameters, then the fields if the operation has any, then the options. Throws a TypeError that names what is wrong. */
function readArguments({ path, takes }: Endpoint, name: string, args: readonly unknown[]): Sent {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter)
  const parameters = args.slice(0, names.length)
  names.forEach((parameter, at) => {
    if (!isPathValue(parameters[at]))
      throw new TypeError(
        `Argument ${at + 1} of ${name} is its ${parameter}: a text or a number, not ${argumentText(parameters[at])}.`,
      )
  })
  const rest = args.slice(names.length)
  const fields = takes ? rest.shift() : undefined
  const isText = takes === 'text'
  if (isText ? typeof fields !== 'string' : fields !== undefined && !isRecord(fields))
    throw new TypeError(`The fields of ${name} are ${isText ? 'a text' : 'an object'}, not ${argumentText(fields)}.`)
  const [options = {}, ...more] = rest
  if (!isRecord(options)) throw new TypeError(`The options of ${name} are an object, not ${argumentText(options)}.`)
  const unknownName = Object.keys(options).find((option) => !optionNames.has(option))
  if (unknownName !== undefined) throw new TypeError(`${name} has no option "${unknownName}".`)
  if (more.length > 0) throw new TypeError(`${name} takes at most ${args.length - more.length} arguments.`)
  return { parameters, fields: fields as Sent['fields'], options } // Checked above.
}

/** `.` and `..` would lead to another path. */
const isPathValue = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && !/^\.{0,2}$/.test(value))

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const argumentText = (value: unknown): string => (typeof value === 'string' ? `"${value}"` : typeof value)
type Fields = Readonly<Record<string, unknown>>
type Page = Readonly<Record<string, unknown>>

/** A list whose pages `read` reads, from these fields on. `by` is the field that asks for the next page. */
function listOf(fields: Fields, by: 'after' | 'offset', read: (fields: Fields) => Promise<unknown>): List<Page> {
  const page = async (of: Fields) => (await read(of)) as Page // A list answers with an object.
  let first: Promise<Page> | undefined
  async function* pages() {
    const nextOf = by === 'after' ? fieldsAfter : fieldsBehind
    for (let next: Fields | undefined = fields; next; ) {
      const got: Page = await page(next)
      yield got
      next = nextOf(next, got)
    }
  }
  return {
    // biome-ignore lint/suspicious/noThenProperty: `await` reads one page.
    then: (...handlers) => (first ??= page(fields)).then(...handlers),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const each of pages()) yield* itemsOf(each) as ItemOf<Page>[]
    },
  }
}

const itemsOf = (page: object): unknown[] => Object.values(page).find(Array.isArray) ?? []

/** The fields of the next page of a list with a cursor. A strict service shows none, and has one page. */
const fieldsAfter = (fields: Fields, { next }: Page): Fields | undefined =>
  next === undefined || next === null ? undefined : { ...fields, after: next }

/** The fields of the next page of a list with an offset. Without a total, the list ends with an empty page. */
function fieldsBehind(fields: Fields, page: Page): Fields | undefined {
  const count = itemsOf(page).length
  const offset = Number(fields.offset ?? 0) + count
  return count > 0 && !(offset >= Number(page.total)) ? { ...fields, offset } : undefined
}

interface Followed {
  readonly from: () => Promise<string>
  readonly open: (lastId: string) => Promise<Response>
  readonly signal: AbortSignal | undefined
}

const FIRST_MS = 100
const LONGEST_MS = 5000

/** Streams what is new, and connects again after a cut. Throws what the first connection throws, later refusals, and aborts. */
async function* follow({ from, open, signal }: Followed): AsyncGenerator<unknown> {
  let lastId = await from()
  let response: Response | undefined = await open(lastId)
  for (let idle = 0; ; idle++) {
    try {
      response ??= await open(lastId)
      for await (const { id, type, data } of messagesOf(response, signal)) {
        idle = 0
        const event: object = JSON.parse(data)
        // The message about removed events has neither its type nor its id inside.
        yield type === 'events.removed' ? { id: Number(id), type, data: event } : event
        // The caller has seen it.
        lastId = id ?? lastId
      }
    } catch (error) {
      signal?.throwIfAborted()
      // Everything else is a cut of the network, or a service that starts again.
      if (error instanceof SyntaxError || (error instanceof Refusal && error.status !== 503)) throw error
    }
    response = undefined
    await pause(Math.min(LONGEST_MS, idle * FIRST_MS), signal)
  }
}

interface Message {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

/** Reads a stream of server-sent events (HTML standard, section "Server-sent events"). Ends when the signal fires. */
async function* messagesOf({ body }: Response, signal: AbortSignal | undefined): AsyncGenerator<Message> {
  if (!body) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const stop = () => void reader.cancel().catch(() => {})
  signal?.addEventListener('abort', stop, { once: true })
  try {
    for (let rest = ''; ; ) {
      signal?.throwIfAborted()
      const { value, done } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/)
      rest = blocks.pop() ?? ''
      yield* blocks.map(messageIn).filter(({ data }) => data !== '')
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
  }
}

function messageIn(block: string): Message {
  // A line that begins with a colon is a comment.
  const fields = block.split(/\r?\n/).map((line) => /^(\w+)(?::| |$) ?([\s\S]*)/.exec(line) ?? [])
  const valuesOf = (name: string) => fields.flatMap(([, field, value = '']) => (field === name ? [value] : []))
  return { id: valuesOf('id').at(-1), type: valuesOf('event').at(-1) ?? 'message', data: valuesOf('data').join('\n') }
}
