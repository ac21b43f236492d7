import type { Entry } from '../../onion/entry.js'
import { type EntryCaller, notReplayable } from '../../replay/call-draft.js'
import type { KnownValues } from './known-values.js'
import type { PreparedState } from './prepared-state.js'
import { fieldSource, Source, templateSource } from './source.js'
import type { VariableNames } from './variable-names.js'

/** The headers that identify a caller in a test, and the lines that must come before. */
export interface CallerSource {
  readonly before: readonly string[]
  /** Code whose value is an object of headers, to be spread into others. */
  readonly spread?: Source
  /** Headers by their names. */
  readonly headers?: Readonly<Record<string, string | Source>>
}

/** Half of the life of an access token. */
const RENEWED_MS = 30 * 60_000
const AUTHORIZATION = 'request.headers.authorization'

/** Makes the credentials of a test anew. Each caller has one, until it is about to expire. */
export class CallerSources {
  readonly #prepared: PreparedState
  readonly #known: KnownValues
  readonly #names: VariableNames
  /** By the arguments of `actAs`. */
  readonly #made = new Map<string, { readonly name: string; readonly at: number }>()
  readonly #secrets = new Map<string, string>()

  constructor(prepared: PreparedState, known: KnownValues, names: VariableNames) {
    this.#prepared = prepared
    this.#known = known
    this.#names = names
  }

  /** Throws `not_replayable`. */
  async of(caller: EntryCaller, { at: time, code, operation_id }: Entry): Promise<CallerSource> {
    const at = Date.parse(time)
    switch (caller.kind) {
      case 'none':
        return { before: [] }
      case 'token':
        return this.#actAs(caller.of, caller.id, { at })
      case 'session':
        return this.#actAs(caller.userId === null ? 'guest' : 'user', caller.userId, { at, by: 'session' })
      case 'refresh': {
        const token = this.#known.lastSecret('refresh_token', operation_id)
        if (token) return { before: [], headers: { authorization: bearer(token) } }
        throw notReplayable(AUTHORIZATION, 'A refresh token is spent. Let the range begin where it was issued.')
      }
      case 'client':
        return this.#client(caller.clientId)
      case 'wrong': {
        const { scheme, clientId } = caller
        if (!/^basic$/i.test(scheme)) return { before: [], headers: { authorization: `${scheme} unknown` } }
        if (clientId === undefined) return { before: [], headers: { authorization: basic('unknown', 'unknown') } }
        // A request with the right secret can be refused for something else.
        return code === 'client_unknown' || code === 'too_many_failures'
          ? { before: [], headers: { authorization: basic(this.#known.text(clientId) ?? clientId, 'wrong') } }
          : this.#client(clientId)
      }
    }
  }

  /** From now on, each caller gets a new credential. */
  forget(): void {
    this.#made.clear()
  }

  #actAs(kind: string, id: number | null, { at, by }: { at: number; by?: 'session' }): CallerSource {
    const own = id === null ? undefined : this.#known.number(id, `${kind}_id`)
    const principal = templateSource(id === null ? [kind] : [`${kind}:`, own ?? String(id)])
    const isSession = by === 'session' && kind !== 'guest'
    const given = isSession ? `${principal}, { by: 'session' }` : principal
    const made = this.#made.get(given)
    if (made && Math.abs(at - made.at) < RENEWED_MS)
      return { before: [], spread: new Source(fieldSource(made.name, 'headers')) }
    const name = this.#names.of(`${kind}${id ?? ''}${isSession ? 'Session' : ''}`)
    this.#made.set(given, { name, at })
    return {
      before: [`const ${name} = await service.sandbox.actAs(${given})`],
      spread: new Source(fieldSource(name, 'headers')),
    }
  }

  /** Client credentials: those that an earlier answer told, or the id with a secret that the state of the test has. */
  async #client(clientId: string): Promise<CallerSource> {
    const id = this.#known.text(clientId)
    const secret = id && this.#known.secretBeside('client_secret', { name: 'client_id', value: clientId })
    if (id && secret) return { before: [], headers: { authorization: basic(id, secret) } }
    const made = this.#secrets.get(clientId) ?? (await this.#prepared.clientSecret(clientId))
    if (made === undefined) throw notReplayable(AUTHORIZATION, 'Its client was not there before the first request.')
    this.#secrets.set(clientId, made)
    return { before: [], headers: { authorization: basic(clientId, made) } }
  }
}

const bearer = (token: Source): Source => new Source(templateSource(['Bearer ', token]))

const basic = (id: string | Source, secret: string | Source): Source => {
  const pair = templateSource([id, ':', secret])
  return new Source(`\`Basic \${btoa(${pair})}\``)
}
