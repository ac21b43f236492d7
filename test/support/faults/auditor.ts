import { setTimeout as pause } from 'node:timers/promises'

const BETWEEN_MS = 100

/** Reads the ledger's audit from one process after the other, while they pay. */
export class Auditor {
  /** How many audits were read. */
  audits = 0
  /** Audits that found something wrong. */
  readonly faults: string[] = []
  #ended = false

  end(): void {
    this.#ended = true
  }

  async run(urls: () => readonly string[]): Promise<void> {
    for (let turn = 0; !this.#ended; turn++) {
      const all = urls()
      await this.audit(all[turn % all.length] ?? '')
      await pause(BETWEEN_MS)
    }
  }

  /** Reads one audit, if the process answers. */
  async audit(url: string): Promise<void> {
    const response = await fetch(`${url}/_sandbox/ledger`).catch(() => undefined)
    const text = await response?.text().catch(() => undefined)
    if (response?.status !== 200 || text === undefined) return
    this.audits++
    const { ok, digital_quantities: quantities } = JSON.parse(text)
    const isEven = quantities.every(({ issued, balances }: Record<string, number>) => issued === balances)
    if (!ok || !isEven) this.faults.push(text)
  }
}
