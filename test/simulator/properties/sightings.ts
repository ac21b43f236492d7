/** What must happen at least once in a long enough run, or the run has not tried what it says. */
export const mustHappen = [
  'a body runs again after a conflict',
  'a card is asked again, and not charged twice',
  'a database aborts a commit',
  'a disk pretends to sync',
  'a disk refuses a write',
  'a follower hears of events',
  'a lease is taken over: outbox',
  // The card is charged, and the value that it pays for is not settled.
  'a process dies: a card is charged',
  'a process dies: a commit has landed',
  'a process dies: a mail is accepted',
  'a process dies: an endpoint has answered',
  'a process dies: before a commit',
  'a process hangs',
  'a process hangs: a commit has landed',
  'a receiver of webhooks took a message and says that it failed',
  'a retry finds its first effect',
  'a sync fails, and it is unknown what is kept',
  'a torn write is dropped at the next start',
  'a webhook is received again',
  'network: answer lost',
  'network: request lost',
  'network: sent twice',
  'the answer to a COMMIT is lost',
] as const

/** How often each thing was seen. */
export class Sightings {
  readonly counts = new Map<string, number>()

  see(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times)
  }

  add(other: Sightings): void {
    for (const [what, times] of other.counts) this.see(what, times)
  }

  missing(): string[] {
    return mustHappen.filter((what) => !this.counts.has(what))
  }
}
