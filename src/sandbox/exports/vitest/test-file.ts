import { problem } from '../../../base/problem.js'
import { visibleLine } from '../../../base/text/visible.js'
import type { ServiceContext } from '../../../http/context.js'
import type { State } from '../../../storage/storage.js'
import type { KeptEntry } from '../../journal/kept-entry.js'
import { answerPlace } from '../../journal/marked-names.js'
import type { Entry } from '../../onion/entry.js'
import { draftOf, notReplayable, titleOf } from '../../replay/call-draft.js'
import { bodyOfAnswer, expectedAnswer, expectedText, KnownValues } from './expected.js'
import { PreparedState } from './prepared-state.js'
import { requestSource } from './request-source.js'
import { ofEntry, serviceSource } from './service-source.js'
import { lineSource, Source, textSource, valueSource } from './source.js'
import { TestSecrets } from './test-secrets.js'

/**
 * Writes entries as a test file for Vitest, which holds the state before the first of them. Timers and deliveries are left
 * out, because they happen by themselves. Throws `not_replayable` for an entry that cannot be sent again.
 */
export async function vitestExport(entries: readonly KeptEntry[], service: ServiceContext): Promise<string> {
  const sent = entries.filter(({ origin }) => origin !== 'timer' && origin !== 'delivery')
  const [first] = sent
  if (!first) {
    if (entries.length > 0) throw notReplayable('origin', 'There is no request in this range.')
    throw problem('not_found', { detail: 'No entry of this range matches.' })
  }
  const prepared = await PreparedState.before(first, service).catch((error: unknown) => {
    throw ofEntry(first, error)
  })
  try {
    const writer = new TestWriter(prepared, Date.parse(first.at))
    for (const entry of sent) await writer.add(entry)
    const state = await prepared.state()
    const callsWebhooks =
      (state.rows.webhooks ?? []).length > 0 || sent.some(({ operation_id }) => operation_id === 'createWebhook')
    const lines = [
      ...serviceSource(sent, { callsWebhooks }, service),
      ...['onTestFinished(() => service.close())', 'await service.sandbox.restore(state)', ...writer.lines],
    ]
    return `${[
      "import { createService } from 'farthing'",
      "import { expect, onTestFinished, test } from 'vitest'",
      '',
      `test(${textSource(testTitle(sent))}, async () => {`,
      ...lines.map((line) => (line === '' ? '' : `  ${line}`)),
      '})',
      '',
      '// The state before the first request. Its clock stands still at that moment, and its key is made for this test.',
      `const state = ${stateSource(state)}`,
    ].join('\n')}\n`
  } finally {
    await prepared.close()
  }
}

function stateSource({ rows, ...head }: State): string {
  const parts = Object.entries(head).map(([name, value]) => `  ${name}: ${lineSource(value)},`)
  const lists = Object.entries(rows).flatMap(([name, list]) => [
    ...[`    ${name}: [`, ...list.map((row) => `      ${lineSource(row)},`), '    ],'],
  ])
  return ['{', ...parts, '  rows: {', ...lists, '  },', '}'].join('\n')
}

function testTitle([first, ...others]: readonly Entry[]): string {
  if (!first) return ''
  const name = first.operation_id ?? `${first.method} ${first.path}`
  const outcome = [first.status, first.code].filter(Boolean).join(' ')
  if (others.length === 0) return visibleLine(`${name} answers ${outcome}`)
  return visibleLine(`${name} and ${others.length} more request${others.length === 1 ? '' : 's'} answer as they did`)
}

/** A pause between two requests that the clock of a test repeats. */
const PAUSE_MS = 1000
const LOCATION = { name: 'url', schemas: [] }

/** Operations that need more than the state: what the sandbox keeps beside it. */
const BESIDE_THE_STATE: Readonly<Record<string, string>> = {
  resetSandbox: 'It brings back the seed of this sandbox, which a test does not have.',
  restoreSnapshot: 'It replaces the whole state.',
  readCredentials: 'It tells of the seed of this sandbox, which a test does not have.',
  rewindSandbox: 'It goes back to an entry or a snapshot that only this sandbox has.',
}

/** What a sandbox keeps beside the state: which operations tell of it, and which put it there. */
const KEPT_BESIDE = [
  { what: 'named snapshots', tells: /NamedState/, puts: /^saveNamedState/ },
  { what: 'forks', tells: /^(list|remove)Fork/, puts: /^(createFork|forkSandbox)/ },
  { what: 'faults', tells: /^(listFaults|(dis)?armFault)$/, puts: /^armFault/ },
]

const FAULT_BEFORE = 'A fault changed it that was armed before. Let the range begin where that was armed.'
const KEY_BEFORE = 'Its answer is that of an earlier entry, `caused_by`. Let the range begin there.'

/** Operations after which a credential may be another one, or none. */
const ENDS_CREDENTIALS = /^(verifySession|forget|end|revoke|delete|createUserSecrets)/

/** Writes the steps of a test: for each entry its request, and what is expected of the answer. */
class TestWriter {
  readonly lines: string[] = []
  readonly #known = new KnownValues()
  readonly #names = new Set(['service', 'state', 'answers', 'test', 'expect', 'onTestFinished', 'createService'])
  readonly #secrets: TestSecrets
  readonly #keys = new Set<string>()
  #armsFaults = false
  readonly #kept = new Set<string>()

  constructor(
    private readonly prepared: PreparedState,
    /** The time of the clock, in Unix milliseconds. Behind every time if a request has moved it. */
    private now: number,
  ) {
    this.#secrets = new TestSecrets(prepared, this.#known, (wanted) => this.#nameOf(wanted))
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

  /** A name of a variable like the given one, with a number behind it if that is taken. */
  #nameOf(wanted: string): string {
    const base = wanted.replace(/\W+/g, '_').replace(/^(?=\d)/, '_')
    let name = base
    for (let number = 2; this.#names.has(name); number++) name = `${base}${number}`
    this.#names.add(name)
    return name
  }

  #check({ operation_id, fault, request, response, status }: Entry): void {
    const beside = BESIDE_THE_STATE[operation_id ?? '']
    if (beside !== undefined) throw notReplayable('operation_id', beside)
    this.#checkKept(operation_id ?? '', status)
    this.#armsFaults ||= operation_id === 'armFault'
    const { 'idempotency-key': key, 'x-sandbox-fault': ownFault } = request.headers
    if (fault !== undefined && !this.#armsFaults && ownFault === undefined) throw notReplayable('fault', FAULT_BEFORE)
    if (key === undefined) return
    if (response.headers['idempotent-replayed'] !== undefined && !this.#keys.has(key))
      throw notReplayable('request.headers.idempotency-key', KEY_BEFORE)
    this.#keys.add(key)
  }

  /** What is missing, or refused for a reason of its own, is so again. */
  #checkKept(operation: string, status: number | null): void {
    for (const { what, tells, puts } of KEPT_BESIDE) {
      if (puts.test(operation) && status === 201) this.#kept.add(what)
      const isOfOthers = tells.test(operation) && ((status ?? 500) < 300 || status === 409)
      if (isOfOthers && !this.#kept.has(what))
        throw notReplayable(
          'operation_id',
          `It tells of ${what} of this sandbox. Let the range begin where they are made.`,
        )
    }
  }

  async #addRequest(entry: KeptEntry): Promise<void> {
    const draft = draftOf(entry)
    const at = Date.parse(entry.at)
    this.lines.push('')
    if (Math.abs(at - this.now) >= PAUSE_MS) {
      this.lines.push(`await service.sandbox.setClock({ set: ${textSource(entry.at)} })`)
      this.now = at
    }
    const { before, code } = await requestSource(draft, this.#secrets)
    this.#secrets.note(draft)
    const name = this.#nameOf(entry.operation_id ?? 'answer')
    this.lines.push(...before, `// ${titleOf(entry)}`, ...`const ${name} = await ${code}`.split('\n'))
    this.lines.push(...this.#expectations(entry, name))
    if (entry.operation_id === 'updateClock') this.now = Number.NEGATIVE_INFINITY
    if (ENDS_CREDENTIALS.test(entry.operation_id ?? '')) this.#secrets.forget()
  }

  #expectations(entry: KeptEntry, name: string): string[] {
    const { status, response } = entry
    const isStored = (text: string) => this.prepared.isStored(text)
    const expecting = { entry, known: this.#known, isStored, place: answerPlace(entry.route, status) }
    const { location, 'content-type': type = '' } = response.headers
    const target = location === undefined ? '' : valueSource(expectedText(location, LOCATION, expecting))
    const head = [
      `expect(${name}.status).toBe(${status})`,
      ...(target === '' ? [] : [`expect(${name}.headers.get('location')).toEqual(${target})`]),
    ]
    const body = bodyOfAnswer(entry)
    // A stream would go on.
    if (body === undefined) return type.includes('event-stream') ? [...head, `await ${name}.body?.cancel()`] : head
    const variable = this.#nameOf(`${name}Body`)
    const expected = expectedAnswer(body, expecting)
    this.#known.add(variable, entry, body)
    const isWhole = typeof expected !== 'object' || expected === null || expected instanceof Source
    return [
      ...head,
      `const ${variable} = JSON.parse(await ${name}.text())`,
      ...`expect(${variable}).${isWhole ? 'toEqual' : 'toMatchObject'}(${valueSource(expected)})`.split('\n'),
    ]
  }
}
