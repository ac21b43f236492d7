import { LimitedMap } from '../../base/memo.js'
import type { Row } from '../../storage/storage.js'
import type { RowChange } from '../../storage/transaction.js'
import type { Effect } from '../onion/entry.js'

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
const effectOf: Readonly<Record<string, Effect['kind'] | ((row: Row) => Effect['kind'] | undefined)>> = {
  movements: 'movement',
  events: 'event',
  timers: 'timer',
  outbox: (row) => ('kind' in row ? messageKinds[String(row.kind)] : undefined),
}

/** What these changes of a transaction caused. */
export function effectsOf(changes: readonly RowChange[]): Effect[] {
  const effects: Effect[] = []
  for (const { collection, id, is } of changes) {
    if (!is) continue
    const effect = effectOf[collection.name]
    const kind = typeof effect === 'function' ? effect(is) : effect
    if (kind) effects.push({ kind, id })
  }
  return effects
}
