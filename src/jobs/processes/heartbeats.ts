import type { Alarm } from '../../base/ports.js'
import type { ProcessRow } from './process-rows.js'

interface Silence {
  /** What the row was when it was heard last. */
  readonly holder: string
  isOver: boolean
  stop(): void
}

/** Measures how long each process has not shown that it is alive, by the time of this one. */
export class Heartbeats {
  readonly #byId = new Map<string, Silence>()

  constructor(
    readonly alarm: Alarm,
    readonly deadMs: number,
  ) {}

  /** Takes the rows of processes as they are now. */
  record(rows: readonly ProcessRow[]): void {
    const ids = new Set(rows.map(({ id }) => id))
    for (const [id, { stop }] of this.#byId)
      if (!ids.has(id)) {
        stop()
        this.#byId.delete(id)
      }
    for (const row of rows) if (this.#byId.get(row.id)?.holder !== row.holder) this.#restart(row)
  }

  /** Whether a row has been the same for so long that its process is dead. */
  isOver({ id, holder }: ProcessRow): boolean {
    const silence = this.#byId.get(id)
    return silence?.holder === holder && silence.isOver
  }

  stop(): void {
    for (const { stop } of this.#byId.values()) stop()
  }

  #restart({ id, holder }: ProcessRow): void {
    this.#byId.get(id)?.stop()
    const silence: Silence = {
      holder,
      isOver: false,
      stop: this.alarm.set(this.deadMs, () => {
        silence.isOver = true
      }),
    }
    this.#byId.set(id, silence)
  }
}
