import { load } from '../../base/parts.js'
import type { ServiceContext } from '../../http/context.js'
import { events } from '../events/event.js'
import { webhooks } from './webhook-row.js'

/** How soon a process learns that another one has created the first webhook. */
const WEBHOOK_CHECK_MS = 60_000

/**
 * Hands new events to webhooks. It costs nothing where no webhook is enabled: it reads that once, and again when
 * webhooks were written. The progress in the storage makes sure that no event is lost or handed out twice.
 */
export class WebhookFeed {
  #isNeeded: boolean | undefined

  constructor(readonly service: ServiceContext) {}

  /** Whether a write to the collection of this name calls for a round. */
  isWokenBy(name: string): boolean {
    if (name === webhooks.name) this.forget()
    return this.#isNeeded !== false && (name === events.name || name === webhooks.name)
  }

  /** Reads again whether there are webhooks, because the state was replaced. */
  forget(): void {
    this.#isNeeded = undefined
  }

  /** Hands out all new events. Returns when it looks again even without a write of this process. */
  async round(): Promise<number | undefined> {
    const { storage, clock } = this.service
    if (this.#isNeeded === undefined || !(this.#isNeeded || storage.exclusive))
      this.#isNeeded = await storage.read(async (tx) => {
        return (await tx.find(webhooks, { index: 'byStatus', prefix: ['enabled'], limit: 1 })).length > 0
      })
    if (this.#isNeeded) {
      const { handOutEvents } = await load(() => import('./hand-out.js'))
      while (await handOutEvents(this.service));
    }
    return storage.exclusive ? undefined : clock.now() + WEBHOOK_CHECK_MS
  }
}
