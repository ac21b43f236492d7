import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Incoming } from '../../src/http/incoming.js'
import { Journal, type JournalLimits, matcher } from '../../src/sandbox/journal/journal.js'
import type { KeptEntry } from '../../src/sandbox/journal/kept-entry.js'
import { howMuch } from '../support/how-much.js'

/** A journal as a list from which the oldest go. */
class Model {
  kept: { readonly entry: KeptEntry; ended: boolean; bytes: number }[] = []
  dropped = 0

  constructor(readonly limits: JournalLimits) {}

  get bytes(): number {
    return this.kept.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  begin(entry: KeptEntry): void {
    this.kept.push({ entry, ended: false, bytes: 0 })
    this.#shrink()
  }

  end(entry: KeptEntry): void {
    const kept = this.kept.find((each) => each.entry === entry)
    if (!kept) return
    Object.assign(kept, { ended: true, bytes: entry.bytes })
    this.#shrink()
  }

  #shrink(): void {
    const { entries, bytes } = this.limits
    while (this.kept.length > entries || (this.kept.length > 1 && this.bytes > bytes)) {
      this.kept.shift()
      this.dropped++
    }
  }
}

function newJournal(limits: Partial<JournalLimits>) {
  const forgotten: number[] = []
  const history = { last: 0, forgetBefore: (commit: number) => void forgotten.push(commit) }
  const journal = new Journal({ clock: { now: () => 1_790_000_000_000 }, instance: 'abc', history }, limits)
  const begin = (origin: 'timer' | 'delivery' = 'timer') => {
    history.last++
    const recording = journal.beginWork({ origin, kind: 'sweep', id: history.last })
    return { recording, entry: journal.entry(recording.id ?? '') as KeptEntry }
  }
  return { journal, history, forgotten, begin }
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('begin' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(5), size: fc.nat(400) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cause' as const), which: fc.nat(5), event: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('note' as const), event: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) },
)

test('whatever begins, ends and is forgotten, the journal has what a plain list has', () => {
  fc.assert(
    fc.property(
      fc.record({ entries: fc.integer({ min: 1, max: 6 }), bytes: fc.constantFrom(0, 2000, 4000, 1e6) }),
      fc.array(step, { minLength: 1, maxLength: 30 }),
      (limits, steps) => {
        const { journal, history, forgotten, begin } = newJournal(limits)
        const model = new Model(limits)
        const begun: ReturnType<typeof begin>[] = []
        const running = new Set<(typeof begun)[0]>()
        const heard: string[] = []
        const ended: string[] = []
        journal.listen((entry) => heard.push(entry.id))
        let [first, messages]: [KeptEntry | undefined, number] = [undefined, 0]
        for (const each of steps) {
          const forgetting = forgotten.length
          if (each.do === 'begin') {
            const one = begin()
            begun.push(one)
            running.add(one)
            model.begin(one.entry)
          } else if (each.do === 'end') {
            const one = [...running][each.which]
            if (!one) continue
            one.entry.sentPath = 'x'.repeat(each.size)
            history.last++
            one.recording.end({})
            running.delete(one)
            expect(one.entry.after).toBe(history.last)
            ended.push(one.entry.id)
            model.end(one.entry)
          } else if (each.do === 'cause') {
            const one = begun.at(-1 - each.which)
            one?.entry.cause({ kind: 'event', id: each.event })
          } else if (each.do === 'note') {
            const by = model.kept.findLast(({ entry }) => entry.hasCaused({ kind: 'event', id: each.event }))?.entry
            journal.noteMessage(each.event, { kind: 'webhook', id: ++messages })
            expect(by?.hasCaused({ kind: 'webhook', id: messages }) ?? false).toBe(by !== undefined)
            expect(journal.causes.of(`delivery:${messages}`)).toBe(by?.id)
          } else {
            journal.clear()
            model.kept = []
          }
          compare(journal, model, begun)
          expect(heard).toEqual(ended)
          // The history may forget what lies before the first entry, once for each that becomes the first.
          const now = model.kept[0]?.entry
          expect(forgotten.slice(forgetting)).toEqual(now && now !== first ? [now.before] : [])
          first = now
        }
      },
    ),
    { numRuns: howMuch(35, 3000) },
  )
})

function compare(journal: Journal, model: Model, begun: readonly { readonly entry: KeptEntry }[]): void {
  const kept = model.kept.map(({ entry }) => entry)
  const ended = model.kept.filter((each) => each.ended).map(({ entry }) => entry)
  expect(journal.size).toEqual({ entries: kept.length, bytes: model.bytes })
  expect(journal.dropped).toBe(model.dropped)
  expect(journal.find({}, { limit: 100 })).toEqual(kept.toReversed())
  expect(journal.find({}, { limit: 2 })).toEqual(kept.toReversed().slice(0, 2))
  for (const { entry } of begun) {
    const at = kept.indexOf(entry)
    const isKept = at >= 0
    expect(journal.entry(entry.id)).toBe(isKept ? entry : undefined)
    expect(journal.entry(entry.id.replace('abc', 'abd'))).toBeUndefined()
    const before = kept.slice(0, Math.max(0, at)).toReversed()
    expect(journal.find({}, { after: entry.id, limit: 100 })).toEqual(isKept ? before : undefined)
    expect(journal.findBefore(entry.id)(() => true)).toBe(before[0])
    expect(journal.findBefore(entry.id)(({ ms }) => ms !== null)).toBe(before.find(({ ms }) => ms !== null))
    expect(journal.since(entry.id)).toEqual(ended.filter((each) => kept.indexOf(each) > at))
    for (const end of [begun[0], begun.at(-1)]) {
      const to = end ? kept.indexOf(end.entry) : -1
      const range = isKept && to >= 0 ? kept.slice(at, to + 1) : undefined
      expect(journal.range(entry.id, end?.entry.id ?? '')).toEqual(range)
    }
  }
}

test('a journal that has forgotten thousands still finds each entry that it has', () => {
  const { journal, begin } = newJournal({ entries: 700 })
  const begun = Array.from({ length: 3500 }, (_, n) => {
    const one = begin().entry
    if (n % 250 === 0) expect(journal.find({}, { limit: 1 })).toEqual([one])
    return one
  })
  expect([journal.size.entries, journal.dropped]).toEqual([700, 2800])
  expect(journal.find({}, { limit: 1000 })).toEqual(begun.slice(-700).toReversed())
  expect(begun.map(({ id }) => journal.entry(id))).toEqual(begun.map((entry, n) => (n < 2800 ? undefined : entry)))
})

test('a message is an effect of its event’s entry, while at most 1,000 entries have begun since', () => {
  const { journal, begin } = newJournal({ entries: 5000 })
  const caused = begin().entry
  caused.cause({ kind: 'event', id: 7 })
  for (let n = 1; n < 1000; n++) begin()
  journal.noteMessage(7, { kind: 'webhook', id: 1 })
  expect(caused.hasCaused({ kind: 'webhook', id: 1 })).toBe(true)
  begin()
  journal.noteMessage(7, { kind: 'webhook', id: 2 })
  expect(caused.hasCaused({ kind: 'webhook', id: 2 })).toBe(false)
})

test('a listener that stops hears no more, and the others do', () => {
  const { journal, begin } = newJournal({})
  const heard: string[] = []
  const stop = journal.listen(() => heard.push('first'))
  journal.listen(() => heard.push('second'))
  begin().recording.end({})
  stop()
  begin().recording.end({})
  expect(heard).toEqual(['first', 'second', 'second'])
  expect(journal.limits).toEqual({ entries: 10_000, bytes: 64_000_000 })
})

/** What is left out says nothing of the service: who sends it looks at the journal, or at whether the service is well. */
test.each([
  ['GET', '/healthz', true, true],
  ['GET', '/readyz', true, true],
  ['GET', '/metrics', true, true],
  ['GET', '/metrics/', false, false],
  ['GET', '/v4/dq', false, false],
  ['GET', '/v4/_sandbox/requests', false, false],
  ['GET', '/x/_sandbox/requests', false, false],
  ['GET', '/_sandbox/requests', true, true],
  ['DELETE', '/_sandbox/requests', true, true],
  ['GET', '/_sandbox/requests/req_1', true, true],
  ['GET', '/_sandbox/requestsx', false, true],
  ['GET', '/_sandbox/rehearsals', true, true],
  ['GET', '/_sandbox/health', true, true],
  ['GET', '/_sandbox/clock', false, true],
  ['POST', '/_sandbox/clock', false, false],
  ['GET', '/other', false, false],
])('%s %s is left out: %s, and from a tool: %s', (method, path, isLeftOut, isOfToolLeftOut) => {
  for (const [headers, expected] of [
    [{}, isLeftOut],
    [{ 'x-farthing-tool': 'workbench' }, isOfToolLeftOut],
  ] as const) {
    const { journal } = newJournal({})
    const request = new Request(`http://service.example.test${path}`, { method, headers })
    const incoming = { method, path, url: request.url, headers: request.headers, request, source: {} }
    const recording = journal.beginRequest(incoming as unknown as Incoming)
    expect(recording === undefined).toBe(expected)
    expect(journal.size.entries).toBe(expected ? 0 : 1)
  }
})

/** Few values, so that filters meet what entries have. */
const word = fc.constantFrom('abc', 'aBd', 'x', 'bd')
const message = fc.record({ headers: fc.record({ zq: word }), body: fc.option(word) })
const someEntry = fc.record({
  id: word,
  path: word,
  ...{ code: fc.option(word, { nil: undefined }), operation_id: fc.option(word) },
  ...{ status: fc.option(fc.constantFrom(200, 402)), principal: fc.option(word) },
  ...{ trace: fc.option(word, { nil: undefined }), request: message, response: message },
})
const someFilter = fc.record(
  {
    ...{ operation_id: word, status: fc.constantFrom(200, 402), principal: word, trace: word },
    q: fc.constantFrom('', 'b', 'AB', 'bd', 'z', 'abc'),
  },
  { requiredKeys: [] },
)

test('a filter finds what equals each of its fields, and its text where a reader sees it, in any case', () => {
  fc.assert(
    fc.property(someEntry, someFilter, (entry, { q, ...exact }) => {
      const texts = [entry.id, entry.path, entry.code, entry.operation_id, entry.request.body, entry.response.body]
      const isEqual = (name: keyof typeof exact) => exact[name] === undefined || exact[name] === entry[name]
      const isFound =
        (['operation_id', 'status', 'principal', 'trace'] as const).every(isEqual) &&
        (q === undefined || texts.some((text) => typeof text === 'string' && new RegExp(q, 'i').test(text)))
      expect(matcher({ q, ...exact })(entry as unknown as KeptEntry)).toBe(isFound)
    }),
    { numRuns: howMuch(250, 20_000) },
  )
})
