import type { Owner } from '../../../src/base/owner.js'
import { events, findEvents } from '../../../src/jobs/events/event.js'
import type { Storage } from '../../../src/storage/storage.js'
import type { Person } from '../world.js'
import { hold } from './broken.js'
import type { Records } from './records.js'

/** The type of the events that people of a simulation write. Each holds the key that it was written under. */
export const WRITTEN = 'client.simulated'

const DAY = 86_400_000

/** Someone who follows events from one on, and what they have heard. */
export class Follower {
  readonly owner: Owner
  readonly heard = new Set<number>()
  /** The newest event that they know of. */
  last: number
  /** The last event before those that they must hear. */
  from: number
  #text = ''

  constructor(by: Person, last: number) {
    this.owner = `${by.email === '' ? 'account' : 'user'}:${by.id}`
    this.last = last
    this.from = last
  }

  /** Takes the next piece of a stream. */
  hear(text: string): void {
    const messages = (this.#text + text).split('\n\n')
    this.#text = messages.pop() ?? ''
    for (const message of messages) {
      const id = Number(/^id: (\d+)$/m.exec(message)?.[1] ?? 0)
      hold(id > this.last, 'A follower hears of each event once, in order', { message, last: this.last })
      this.last = id
      this.heard.add(id)
      if (message.includes('event: events.removed\n')) this.from = id
    }
  }
}

/** Followers have heard of all that happened, and what was written once is there once. */
export async function checkEvents(storage: Storage, { followers }: Records): Promise<void> {
  for (const { owner, from, last, heard } of followers) {
    const rows = await storage.read((tx) => findEvents(tx, { owner, type: undefined, past: from, limit: 100_000 }))
    const missed = rows.filter(({ id }) => id <= last && !heard.has(id))
    hold(missed.length === 0, 'A follower misses no event', { missed, from, last })
  }
  const all = await storage.read((tx) => tx.find(events, { index: 'id', prefix: [], limit: 100_000 }))
  const written = new Map<unknown, number>()
  for (const { id, data, created_at } of all.filter(({ type }) => type === WRITTEN)) {
    const before = written.get(data.key)
    // After a day, the service has forgotten the key.
    const isNew = before === undefined || created_at - before >= DAY
    hold(isNew, 'One key has one effect', { id, data })
    written.set(data.key, created_at)
  }
}
