import { isRefusal } from '../../adapters/client.js'
import type { Rehearsal } from '../../src/sandbox/rehearse/rehearse-stage.js'
import { rehearsalReport } from '../../src/sandbox/rehearse/report.js'
import type { RunningService } from './running-service.js'

/** Keeps the report of a rehearsal in a sandbox while it runs, so that its workbench shows it. */
export class WatchedRehearsal {
  readonly id = `r-${Date.now().toString(36)}`
  #next: Rehearsal | undefined
  #sending: Promise<void> | undefined
  #why: string | undefined

  constructor(
    readonly sandbox: RunningService,
    readonly told: { readonly command: string; readonly flags?: string[] },
  ) {}

  /** Where the workbench shows it. */
  get address(): string {
    return `${this.sandbox.url}/#/rehearse/${this.id}`
  }

  /** Sends the newest report after the one on its way. */
  show(soFar: Rehearsal): void {
    this.#next = soFar
    this.#sending ??= this.#sendAll()
  }

  /** Sends the whole report. Returns why the sandbox did not keep it, or undefined. */
  async end(rehearsal: Rehearsal): Promise<string | undefined> {
    await this.#sending
    this.#why = undefined
    await this.#send(rehearsal, false)
    return this.#why
  }

  async #sendAll(): Promise<void> {
    while (this.#next) {
      const report = this.#next
      this.#next = undefined
      await this.#send(report, true)
    }
    this.#sending = undefined
  }

  /** A rehearsal goes on although nobody can watch it. */
  async #send(rehearsal: Rehearsal, running: boolean): Promise<void> {
    const { id, told } = this
    try {
      const { findings, ...report } = rehearsalReport(rehearsal)
      // Messages of a proxied service stay in the reports that were asked for.
      const shown = findings.map(({ messages: _, ...finding }) => finding)
      await this.sandbox.service.rehearsals.keep(id, { ...told, running, ...report, findings: shown })
    } catch (error) {
      this.#why = isRefusal(error) ? error.message : 'it does not answer'
    }
  }
}
