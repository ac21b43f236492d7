import type { Effect } from '../../base/journal.js'
import { LimitedMap } from '../../base/memo.js'
import type { Row } from '../../storage/storage.js'

/** Which entry set a timer, put a message into the outbox, or used an Idempotency-Key first. */
export class CauseIndex {
  readonly #entries: LimitedMap<string, string>

  constructor(most: number) {
    this.#entries = new LimitedMap(most)
  }

  /** Remembers the entry that caused something. After a reset, ids begin again, so the last one counts. */
  note(thing: string, entryId: string): void {
    this.#entries.set(thing, entryId)
  }

  of(thing: string): string | undefined {
    return this.#entries.get(thing)
  }
}

const messageKinds: Readonly<Record<string, Effect['kind']>> = {
  mail: 'mail',
  push: 'push',
  card: 'card',
  refund: 'card',
  webhook: 'webhook',
}

/** Collections whose new rows are effects, with the kind of each row. */
const effectOf: Readonly<Record<string, (row: Row) => Effect['kind'] | undefined>> = {
  movements: () => 'movement',
  events: () => 'event',
  timers: () => 'timer',
  outbox: (row) => ('kind' in row ? messageKinds[String(row.kind)] : undefined),
}

/** What these puts of a transaction caused. A list of names of collections, each with the row after it. */
export function effectsOf(puts: readonly (string | Row)[]): Effect[] {
  const effects: Effect[] = []
  for (let at = 0; at < puts.length; at += 2) {
    const kindOf = effectOf[puts[at] as string] // Names are at even places.
    const row = puts[at + 1]
    if (!kindOf || typeof row !== 'object') continue
    const kind = kindOf(row)
    if (kind && !effects.some((known) => known.kind === kind && known.id === row.id)) effects.push({ kind, id: row.id })
  }
  return effects
}
