import { onTestFinished } from 'vitest'
import { createService } from '../../../src/index.js'
import type { Explanation } from '../../../src/sandbox/explain/facts/explanation.js'
import { type Answer, type Call, type CallOptions, caller } from '../api.js'

export type ServiceOptions = NonNullable<Parameters<typeof createService>[0]>

/** A caller whose requests are explained. `client`: id and secret of its client credentials. */
type KnownCaller = Pick<CallOptions, 'token' | 'session'> & { readonly client?: readonly [id: string, secret: string] }

/** A refused request, its explanation, and what its fix needs to be sent. */
export interface Refused {
  readonly answer: Answer
  readonly why: Explanation
  readonly sent: CallOptions
}

export interface MendOptions {
  /** What the developer fills in where the fix shows `[redacted]`, by the name of the field or header. */
  readonly fill?: Readonly<Record<string, () => string | Promise<string>>>
}

/** A service in this process whose refusals are explained. */
export function explainedService(options: ServiceOptions = {}) {
  const service = createService({ ...options, sandbox: true })
  onTestFinished(() => service.close())
  const secrets = new Set<string>()
  const calls = caller({
    url: service.baseUrl,
    fetch: (request) => service.fetch(request),
    evidence: options.evidence,
  })
  const call: Call = async (...asked) => {
    const answer = await calls(...asked)
    collectSecrets(answer.body, secrets)
    const session = answer.headers.get('x-session-id')
    if (session) secrets.add(session)
    return answer
  }
  const known = new Map<string, KnownCaller>()

  /** Explains an answer. */
  async function explained({ headers }: Pick<Answer, 'headers'>): Promise<Explanation> {
    const { status, body, text } = await calls('GET', `/_sandbox/requests/${headers.get('x-request-id')}/explain`)
    if (status !== 200) throw new Error(`no explanation: ${text}`)
    return body
  }

  /** Makes a request that is refused, and explains it. */
  async function refused(method: string, path: string, sent: CallOptions = {}): Promise<Refused> {
    const answer = await call(method, path, sent)
    return { answer, why: await explained(answer), sent }
  }

  /** Sends the fix of a refusal, and what it says to send next. Returns the last answer. */
  async function fixed(refusal: Pick<Refused, 'why' | 'sent'>, options: MendOptions = {}): Promise<Answer> {
    const { fix, verdict } = refusal.why
    if (!fix) throw new Error(`${verdict} has no fix`)
    const first = await send(fix.example, refusal, options)
    if (!fix.next) return first
    const isRefused = ({ status, text }: Answer) => {
      if (status >= 400) throw new Error(`the fix of ${verdict} was refused: ${text}`)
    }
    isRefused(first)
    if (fix.between) isRefused(await send(filled(fix.between, first), refusal, options))
    return send(filled(fix.next, first), refusal, options)
  }

  async function send(
    { method, path, as, headers = {}, body }: Example,
    { why, sent }: Pick<Refused, 'why' | 'sent'>,
    { fill = {} }: MendOptions,
  ): Promise<Answer> {
    const { authorization, 'x-session-id': session, ...others } = headers
    const isControl = path.startsWith('/_sandbox/')
    const owner = as === undefined ? undefined : known.get(as)
    const isSame = as === why.entry.principal && (sent.token ?? sent.session) !== undefined
    const by: KnownCaller = isSame
      ? { ...(owner?.client && { client: owner.client }), ...pickCredentials(sent) }
      : (owner ?? (isControl ? {} : sent))
    const basic = path.endsWith('/oauth/token') && by.client && { authorization: `Basic ${btoa(by.client.join(':'))}` }
    const own = { ...(by.token && { token: by.token }), ...(by.session && { session: by.session }) }
    const bearer = authorization === undefined ? own : { token: authorization.replace('Bearer ', '') }
    const hidden = async (name: string, value: string) => (value === HIDDEN ? ((await fill[name]?.()) ?? '') : value)
    const shown = { ...others, ...(session !== undefined && { 'x-session-id': session }) }
    const pairs = Object.entries(shown).map(async ([name, value]) => [name, await hidden(name, value)] as const)
    const type = why.entry.request.headers['content-type']
    return call(method, path.replace(HIDDEN, (await fill.path?.()) ?? HIDDEN), {
      ...(basic || session !== undefined ? {} : bearer),
      headers: {
        ...(typeof body === 'string' && type !== undefined && { 'content-type': type }),
        ...Object.fromEntries(await Promise.all(pairs)),
        ...basic,
      },
      ...(typeof body === 'string'
        ? { raw: body === HIDDEN && sent.raw !== undefined ? sent.raw : body }
        : body !== undefined && { body: await unredacted(body, sent.body ?? sent.form, fill) }),
    })
  }

  return { call, known, secrets, explained, refused, fixed, service }
}

const pickCredentials = ({ token, session }: CallOptions): KnownCaller => ({
  ...(token !== undefined && { token }),
  ...(session !== undefined && { session }),
})

const HIDDEN = '[redacted]'

/** The names of fields whose values nobody else may see. */
const SECRET =
  /^((access|refresh|id|registration_access)_token|client_secret|session_id|nonce|secret|token|(agent_twin_)?key)$/

function collectSecrets(value: unknown, into: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, part] of Object.entries(value)) {
    if (typeof part === 'string' && part.length > 5 && SECRET.test(name)) into.add(part)
    collectSecrets(part, into)
  }
}

type Example = NonNullable<Explanation['fix']>['example']

/** Puts back what the journal does not show, as the developer who sent it would. */
async function unredacted(body: unknown, sent: unknown, fill: NonNullable<MendOptions['fill']>): Promise<unknown> {
  if (body === HIDDEN) return sent
  if (typeof body !== 'object' || body === null) return body
  const partOf = (name: string) => (sent as Record<string, unknown> | undefined)?.[name]
  if (Array.isArray(body)) return Promise.all(body.map((part, i) => unredacted(part, partOf(String(i)), fill)))
  const pairs = Object.entries(body).map(async ([name, value]) => {
    const put = value === HIDDEN ? fill[name] : undefined
    return [name, put ? await put() : await unredacted(value, partOf(name), fill)] as const
  })
  return Object.fromEntries(await Promise.all(pairs))
}

/** Fills `{name}` from the answer to the call before. */
function filled(example: Example, { body, headers }: Answer): Example {
  const partOf = (name: string) => body?.[name] ?? headers.get(name)
  return JSON.parse(
    JSON.stringify(example, (_, value) => {
      if (typeof value !== 'string') return value
      const [, whole] = /^\{([\w-]+)\}$/.exec(value) ?? []
      return whole === undefined ? value.replace(/\{([\w-]+)\}/g, (_all, name) => String(partOf(name))) : partOf(whole)
    }),
  )
}
