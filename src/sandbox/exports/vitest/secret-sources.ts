import { type CallDraft, filledTemplate, type Secret } from '../../replay/call-draft.js'
import { emailIn, remade, unknownSecret } from '../../replay/credentials.js'
import type { CallerSource } from './caller-sources.js'
import type { KnownValues } from './known-values.js'
import type { PreparedState } from './prepared-state.js'
import { Source, textSource } from './source.js'
import type { VariableNames } from './variable-names.js'

/** The code of a secret, and the lines that must come before. */
interface SecretSource {
  readonly before: readonly string[]
  readonly source: Source
}

/** Makes the secrets of a test anew that its requests have in their paths and bodies: nonces, codes, tokens of links. */
export class SecretSources {
  readonly #prepared: PreparedState
  readonly #known: KnownValues
  readonly #names: VariableNames

  /** Addresses that the requests so far had a code mailed to. */
  readonly #asked = new Set<string>()

  constructor(prepared: PreparedState, known: KnownValues, names: VariableNames) {
    this.#prepared = prepared
    this.#known = known
    this.#names = names
  }

  /** Throws `not_replayable`. */
  async of(secret: Secret, draft: CallDraft, caller: CallerSource): Promise<SecretSource> {
    const kind = remade(draft, secret)
    if (kind === 'code') return this.#mailedCode(secret, draft, caller)
    if (kind === 'device') return { before: [], source: new Source(textSource('a-push-token-of-a-test')) }
    const { entry } = draft
    const isUnknown = entry.code === 'nonce_unknown'
    // In a path, only the token of a link is taken out.
    const known = isUnknown ? undefined : this.#known.secret(secret.name || 'token', entry)
    if (known) return { before: [], source: known }
    if (kind !== 'nonce') throw unknownSecret(secret)
    return { before: [], source: new Source(textSource(await this.#prepared.nonce(draft, secret))) }
  }

  /** Notes what a request that was written makes the service mail. */
  note({ entry, body }: CallDraft): void {
    const email = body && entry.operation_id === 'sendSessionCode' ? emailIn(filledTemplate(body, () => '')) : undefined
    if (email !== undefined) this.#asked.add(email)
  }

  /** The code in the newest mail. Without a request for it before, the test sends one. */
  #mailedCode(secret: Secret, { body, entry }: CallDraft, { spread }: CallerSource): SecretSource {
    const email = emailIn(body === null ? '' : filledTemplate(body, () => ''))
    if (email === undefined) throw unknownSecret(secret)
    const name = this.#names.of('mails')
    const before = [
      ...(this.#asked.has(email) ? [] : askSource(email, spread)),
      `const ${name} = await service.sandbox.outbox({ to: ${textSource(email)}, kind: 'mail', limit: 1 })`,
    ]
    const code = `${name}.messages[0]?.codes[0]`
    if (entry.code !== 'code_wrong') return { before, source: new Source(code) }
    return { before, source: new Source(`String((Number(${code}) + 1) % 1_000_000).padStart(6, '0')`) }
  }
}

/** Requests a code. */
const askSource = (email: string, spread: Source | undefined): string[] => [
  "await service.fetch('/v4/session/code', {",
  "  method: 'POST',",
  `  headers: { ${spread ? `...${spread.code}, ` : ''}'content-type': 'application/json' },`,
  `  body: JSON.stringify({ email: ${textSource(email)} }),`,
  '})',
]
