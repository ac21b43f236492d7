import { computed, effect, signal } from '@preact/signals'
import type { KeptRehearsal } from '../../src/sandbox/controls/service-controls.js'
import type { RehearsalReport } from '../../src/sandbox/onion/rehearsal-report.js'
import { call } from './api.js'
import { parts, tell, view } from './state.js'

/** What the view Rehearse knows. */

export type Report = RehearsalReport
export type ReportCell = Report['cells'][number]

/** The id of the report from a file. */
export const FILE = 'file'

export const kept = signal<readonly KeptRehearsal[] | undefined>(undefined)
const fromFile = signal<Report | undefined>(undefined)
const fetched = signal<{ readonly id: string; readonly report: Report } | undefined>(undefined)

/** The rehearsal that the address names, or the newest. */
export const shownId = computed(() => parts.value[1] || kept.value?.[0]?.id)
export const report = computed(() => {
  if (shownId.value === FILE) return fromFile.value
  return fetched.value?.id === shownId.value ? fetched.value?.report : undefined
})

const AGAIN_MS = 1000

/** Reads again while the view is open: runs end in between. */
export function followRehearsals(): () => void {
  const timer = setInterval(() => document.hidden || void readShown(), AGAIN_MS)
  const stop = effect(() => {
    if (view.value === 'rehearse') void readShown(shownId.value)
  })
  return () => {
    clearInterval(timer)
    stop()
  }
}

async function readShown(id = shownId.peek()): Promise<void> {
  const list = await call('GET', '_sandbox/rehearsals')
  if (!list.ok) return
  if (JSON.stringify(kept.peek()) !== JSON.stringify(list.body.rehearsals)) kept.value = list.body.rehearsals
  const known = fetched.peek()
  if (id === undefined || id === FILE || (known?.id === id && known.report.running !== true)) return
  const answer = await call('GET', `_sandbox/rehearsals/${encodeURIComponent(id)}`)
  if (answer.ok) fetched.value = { id, report: answer.body }
}

/** Opens what `farthing rehearse --json` printed. */
export async function openReport(file: File | undefined): Promise<boolean> {
  if (!file) return false
  try {
    const given = JSON.parse(await file.text())
    if (!Array.isArray(given.cells) || !Array.isArray(given.findings)) throw new Error()
    fromFile.value = given
    return true
  } catch {
    tell(`${file.name} is no report of farthing rehearse --json.`, true)
    return false
  }
}

/** `call 2 of createPayment`, or the operation if it is called once. */
export const callKey = ({ operation, nth }: { operation: string; nth: number }): string => `${operation} ${nth}`

export const again = ({ random_seed, runs, flags = [], command = 'npm test' }: Report): string =>
  `npx farthing rehearse ${[`--random-seed ${random_seed} --budget ${runs}`, ...flags].join(' ')} -- ${command}`
