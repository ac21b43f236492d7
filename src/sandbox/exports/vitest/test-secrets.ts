import { type CallDraft, filledTemplate, notReplayable, type Secret } from '../../replay/call-draft.js'
import { emailIn, remade, unknownSecret } from '../../replay/credentials.js'
import type { KnownValues } from './expected.js'
import type { PreparedState } from './prepared-state.js'
import { fieldSource, Source, templateSource, textSource } from './source.js'

/** The headers that identify a caller in a test. */
export interface CallerSource {
  readonly before?: readonly string[]
  /** Code whose value is an object of headers, to be spread into others. */
  readonly spread?: Source
  readonly headers?: Readonly<Record<string, string | Source>>
}

/** Half of the life of an access token. */
const RENEWED_MS = 30 * 60_000
const AUTHORIZATION = 'request.headers.authorization'

/** Makes the credentials and other secrets of a test anew: tokens, nonces, codes, tokens of links. */
export class TestSecrets {
  /** By the arguments of `actAs`. Each caller has one credential, until it is about to expire. */
  readonly #made = new Map<string, { readonly name: string; readonly at: number }>()
  readonly #clientSecrets = new Map<string, string>()
  /** Addresses that the requests so far had a code mailed to. */
  readonly #mailed = new Set<string>()

  constructor(
    private readonly prepared: PreparedState,
    /** What the answers of the test have told by now. */
    readonly known: KnownValues,
    /** Returns a name of a variable that is not taken. */
    private readonly nameOf: (wanted: string) => string,
  ) {}

  /** Throws `not_replayable`. */
  async ofCaller({ caller, entry: { at, code, operation_id } }: CallDraft): Promise<CallerSource> {
    if (caller.kind === 'none') return {}
    if (caller.kind === 'token') return this.#actAs(caller.of, caller.id, at)
    if (caller.kind === 'session') {
      const isSession = caller.userId !== null
      return this.#actAs(isSession ? 'user' : 'guest', caller.userId, at, { isSession })
    }
    if (caller.kind === 'refresh') {
      const token = this.known.lastSecret('refresh_token', operation_id)
      if (token) return authorized(new Source(templateSource(['Bearer ', token])))
      throw notReplayable(AUTHORIZATION, 'A refresh token is spent. Let the range begin where it was issued.')
    }
    if (caller.kind === 'client') return this.#client(caller.clientId)
    const { scheme, clientId } = caller
    if (!/^basic$/i.test(scheme)) return authorized(`${scheme} unknown`)
    if (clientId === undefined) return authorized(basic('unknown', 'unknown'))
    // A request with the right secret can be refused for something else.
    return code === 'client_unknown' || code === 'too_many_failures'
      ? authorized(basic(this.known.text(clientId) ?? clientId, 'wrong'))
      : this.#client(clientId)
  }

  /** From now on, each caller gets a new credential. */
  forget(): void {
    this.#made.clear()
  }

  #actAs(kind: string, id: number | null, time: string, { isSession = false } = {}): CallerSource {
    const at = Date.parse(time)
    const own = id === null ? undefined : this.known.number(id, `${kind}_id`)
    const principal = templateSource(id === null ? [kind] : [`${kind}:`, own ?? String(id)])
    const given = isSession ? `${principal}, { by: 'session' }` : principal
    const made = this.#made.get(given)
    const isFresh = made !== undefined && Math.abs(at - made.at) < RENEWED_MS
    const name = isFresh ? made.name : this.nameOf(`${kind}${id ?? ''}${isSession ? 'Session' : ''}`)
    const spread = new Source(fieldSource(name, 'headers'))
    if (isFresh) return { spread }
    this.#made.set(given, { name, at })
    return { before: [`const ${name} = await service.sandbox.actAs(${given})`], spread }
  }

  /** Client credentials: those that an earlier answer told, or the id with a secret that the state of the test has. */
  async #client(clientId: string): Promise<CallerSource> {
    const id = this.known.text(clientId)
    const secret = id && this.known.secretBeside('client_secret', { name: 'client_id', value: clientId })
    if (id && secret) return authorized(basic(id, secret))
    const made = this.#clientSecrets.get(clientId) ?? (await this.prepared.clientSecret(clientId))
    if (made === undefined) throw notReplayable(AUTHORIZATION, 'Its client was not there before the first request.')
    this.#clientSecrets.set(clientId, made)
    return authorized(basic(clientId, made))
  }

  /** The code of a secret that a request has in its path or body, and the lines that must come before. Throws `not_replayable`. */
  async of(
    secret: Secret,
    draft: CallDraft,
    caller: CallerSource,
  ): Promise<Pick<CallerSource, 'before'> & { readonly source: Source }> {
    const kind = remade(draft, secret)
    if (kind === 'code') return this.#mailedCode(secret, draft, caller)
    if (kind === 'device') return { source: new Source(textSource('a-push-token-of-a-test')) }
    const { entry } = draft
    // In a path, only the token of a link is taken out.
    const known = entry.code === 'nonce_unknown' ? undefined : this.known.secret(secret.name || 'token', entry)
    if (known) return { source: known }
    if (kind !== 'nonce') throw unknownSecret(secret)
    return { source: new Source(textSource(await this.prepared.nonce(draft, secret))) }
  }

  /** Notes what a request that was written makes the service mail. */
  note(draft: CallDraft): void {
    const email = draft.entry.operation_id === 'sendSessionCode' ? addressIn(draft) : undefined
    if (email !== undefined) this.#mailed.add(email)
  }

  /** The code in the newest mail. Without a request for it before, the test sends one. */
  #mailedCode(secret: Secret, draft: CallDraft, { spread }: CallerSource) {
    const email = addressIn(draft)
    if (email === undefined) throw unknownSecret(secret)
    const name = this.nameOf('mails')
    const before = [
      ...(this.#mailed.has(email) ? [] : sendCodeSource(email, spread)),
      `const ${name} = await service.sandbox.outbox({ to: ${textSource(email)}, kind: 'mail', limit: 1 })`,
    ]
    const code = `${name}.messages[0]?.codes[0]`
    const wrong = `String((Number(${code}) + 1) % 1_000_000).padStart(6, '0')`
    return { before, source: new Source(draft.entry.code === 'code_wrong' ? wrong : code) }
  }
}

const addressIn = ({ body }: CallDraft): string | undefined =>
  emailIn(body === null ? '' : filledTemplate(body, () => ''))

const sendCodeSource = (email: string, spread: Source | undefined): string[] => [
  "await service.fetch('/v4/session/code', {",
  "  method: 'POST',",
  `  headers: { ${spread ? `...${spread.code}, ` : ''}'content-type': 'application/json' },`,
  `  body: JSON.stringify({ email: ${textSource(email)} }),`,
  '})',
]

const authorized = (authorization: string | Source): CallerSource => ({ headers: { authorization } })

const basic = (id: string | Source, secret: string | Source): Source =>
  new Source(`\`Basic \${btoa(${templateSource([id, ':', secret])})}\``)
