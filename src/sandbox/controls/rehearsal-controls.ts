import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { sandboxOf } from '../onion/context.js'
import { type RehearsalReport, RehearsalReportShape } from '../onion/rehearsal-report.js'
import { wrongField } from './shapes.js'

/** A rehearsal in the list. */
export interface KeptRehearsal {
  readonly id: string
  /** ISO 8601. When it was first kept. */
  readonly at: string
  readonly command: string
  readonly running: boolean
  readonly runs: number
  readonly findings: number
}

/** Reports of rehearsals, for the workbench. The process keeps the last 10. They are no part of the state. */
export interface RehearsalControls {
  /** Keeps a report, or replaces the one with this id. */
  keep(id: string, report: RehearsalReport): Promise<void>
  /** Lists the reports, the newest first. */
  list(): Promise<KeptRehearsal[]>
  /** Returns a report. Throws `not_found`. */
  read(id: string): Promise<RehearsalReport>
}

const MOST_REHEARSALS = 10
export const REHEARSAL_ID = /^[\w-]{1,64}$/

export function rehearsalControls(service: ServiceContext): RehearsalControls {
  const { rehearsals } = sandboxOf(service)
  return {
    async keep(id, given) {
      if (!REHEARSAL_ID.test(id)) throw wrongField('id', 'must be 1 to 64 letters, digits, _ or -')
      const report = checkShape(RehearsalReportShape, given)
      const at = rehearsals.get(id)?.at ?? new Date(service.clock.now()).toISOString()
      rehearsals.set(id, { at, report })
      for (const oldest of [...rehearsals.keys()].slice(0, -MOST_REHEARSALS)) rehearsals.delete(oldest)
    },
    list: async () =>
      [...rehearsals]
        .map(([id, { at, report }]) => {
          const { command = '', running = false, runs, findings } = report
          return { id, at, command, running, runs, findings: findings.length }
        })
        .reverse(),
    async read(id) {
      const kept = rehearsals.get(id)
      if (!kept) throw problem('not_found', { detail: `There is no rehearsal with the id ${JSON.stringify(id)}.` })
      return kept.report
    },
  }
}
