import { titleOf } from '../../journal/entry-title.js'
import type { KeptEntry } from '../../journal/kept-entry.js'
import { answerPlace } from '../../journal/places.js'
import type { Entry } from '../../onion/entry.js'
import { draftOf, notReplayable } from '../../replay/call-draft.js'
import { CallerSources } from './caller-sources.js'
import { expectedAnswer, expectedText } from './expected.js'
import { KnownValues } from './known-values.js'
import type { PreparedState } from './prepared-state.js'
import { bodyOfAnswer, ofEntry } from './recorded-answer.js'
import { requestSource } from './request-writer.js'
import { SecretSources } from './secret-sources.js'
import { Source, textSource, valueSource } from './source.js'
import { VariableNames } from './variable-names.js'

/** A pause between two requests that the clock of a test repeats. */
const PAUSE_MS = 1000

const LOCATION = { name: 'url', schemas: [] }

/** Operations that need more than the state: what the sandbox keeps beside it. */
const BESIDE_THE_STATE: Readonly<Record<string, string>> = {
  resetSandbox: 'It brings back the seed of this sandbox, which a test does not have.',
  restoreSnapshot: 'It replaces the whole state.',
  rewindSandbox: 'It goes back to an entry or a snapshot that only this sandbox has.',
}

/** Operations after which a credential may be another one, or none. */
const ENDS_CREDENTIALS = /^(verifySession|forget|end|revoke|delete|createUserSecrets)/

/** Writes the steps of a test: for each entry its request, and what is expected of the answer. */
export class TestWriter {
  readonly lines: string[] = []
  readonly #prepared: PreparedState
  readonly #known = new KnownValues()
  readonly #names = new VariableNames([
    'service',
    'state',
    'answers',
    'test',
    'expect',
    'onTestFinished',
    'createService',
  ])
  readonly #callers: CallerSources
  readonly #secrets: SecretSources
  readonly #keys = new Set<string>()
  /** The time of the clock, in Unix milliseconds. Behind every time if a request has moved it. */
  #now: number
  #armsFaults = false

  /** `start`: the time that the clock of the state shows, in Unix milliseconds. */
  constructor(prepared: PreparedState, start: number) {
    this.#prepared = prepared
    this.#now = start
    this.#callers = new CallerSources(prepared, this.#known, this.#names)
    this.#secrets = new SecretSources(prepared, this.#known, this.#names)
  }

  /** Throws `not_replayable`. */
  async add(entry: KeptEntry): Promise<void> {
    try {
      this.#check(entry)
      await this.#addRequest(entry)
    } catch (error) {
      throw ofEntry(entry, error)
    }
  }

  #check({ operation_id, fault, request, response }: Entry): void {
    const beside = BESIDE_THE_STATE[operation_id ?? '']
    if (beside !== undefined) throw notReplayable('operation_id', beside)
    this.#armsFaults ||= operation_id === 'armFault'
    if (fault !== undefined && !this.#armsFaults && request.headers['x-sandbox-fault'] === undefined)
      throw notReplayable(
        'fault',
        'A fault changed it that was armed before. Let the range begin where that was armed.',
      )
    const { 'idempotency-key': key } = request.headers
    if (key === undefined) return
    if (response.headers['idempotent-replayed'] !== undefined && !this.#keys.has(key))
      throw notReplayable(
        'request.headers.idempotency-key',
        'Its answer is that of an earlier entry, `caused_by`. Let the range begin there.',
      )
    this.#keys.add(key)
  }

  async #addRequest(entry: KeptEntry): Promise<void> {
    const draft = draftOf(entry)
    const at = Date.parse(entry.at)
    this.lines.push('')
    if (Math.abs(at - this.#now) >= PAUSE_MS) {
      this.lines.push(`await service.sandbox.setClock({ set: ${textSource(entry.at)} })`)
      this.#now = at
    }
    const sources = { known: this.#known, callers: this.#callers, secrets: this.#secrets }
    const { before, code } = await requestSource(draft, sources)
    this.#secrets.note(draft)
    const name = this.#names.of(entry.operation_id ?? 'answer')
    this.lines.push(...before, `// ${titleOf(entry)}`, ...`const ${name} = await ${code}`.split('\n'))
    this.lines.push(...this.#expectations(entry, name))
    if (entry.operation_id === 'updateClock') this.#now = Number.NEGATIVE_INFINITY
    if (ENDS_CREDENTIALS.test(entry.operation_id ?? '')) this.#callers.forget()
  }

  #expectations(entry: KeptEntry, name: string): string[] {
    const { status, response } = entry
    const isStored = (text: string) => this.#prepared.isStored(text)
    const expecting = { entry, known: this.#known, isStored, place: answerPlace(entry.route, status) }
    const { location, 'content-type': type = '' } = response.headers
    const lines = [`expect(${name}.status).toBe(${status})`]
    if (location !== undefined)
      lines.push(
        `expect(${name}.headers.get('location')).toEqual(${valueSource(expectedText(location, LOCATION, expecting))})`,
      )
    const body = bodyOfAnswer(entry)
    if (body === undefined) {
      // A stream would go on.
      if (type.includes('event-stream')) lines.push(`await ${name}.body?.cancel()`)
      return lines
    }
    const variable = this.#names.of(`${name}Body`)
    const expected = expectedAnswer(body, expecting)
    this.#known.add(variable, entry, body)
    const compares =
      typeof expected === 'object' && expected !== null && !(expected instanceof Source) ? 'toMatchObject' : 'toEqual'
    return [
      ...lines,
      `const ${variable} = JSON.parse(await ${name}.text())`,
      ...`expect(${variable}).${compares}(${valueSource(expected)})`.split('\n'),
    ]
  }
}
