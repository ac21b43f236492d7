import { mkdirSync, writeFileSync } from 'node:fs'
import { Sightings } from './properties/sightings.js'
import type { Outcome } from './run.js'
import type { Shrunk } from './shrink.js'

const HOUR = 3_600_000

/** What all seeds of a run have seen together. */
export class Run {
  seeds = 0
  hours = 0
  events = 0
  calls = 0
  readonly sightings = new Sightings()
  /** What each operation was answered with, by its id. */
  readonly answered = new Map<string, Set<number>>()

  add({ passedMs, events, calls, sightings, answered }: Outcome): void {
    this.seeds++
    this.hours += passedMs / HOUR
    this.events += events
    this.calls += calls
    this.sightings.add(sightings)
    for (const [id, statuses] of answered) {
      const known = this.answered.get(id) ?? new Set()
      for (const status of statuses) known.add(status)
      this.answered.set(id, known)
    }
  }

  /** Operations that nobody has called. */
  uncalled(ids: readonly string[]): string[] {
    return ids.filter((id) => !this.answered.has(id))
  }

  /** Operations that have never succeeded. */
  unsuccessful(ids: readonly string[]): string[] {
    return ids.filter((id) => ![...(this.answered.get(id) ?? [])].some((status) => status < 400))
  }

  /** How many faults fired: all that was seen but what a service made good. */
  get faults(): number {
    const fired = [...this.sightings.counts].filter(([what]) =>
      /^(mail|push|cards|upstream|network):|dies:|disk|database|sync|COMMIT/.test(what),
    )
    return fired.reduce((sum, [, times]) => sum + times, 0)
  }
}

/** Keeps the figures of a run for the trust page. */
export function keepResults({ seeds, hours, calls, faults, sightings }: Run): void {
  mkdirSync('.simulator', { recursive: true })
  const seen = Object.fromEntries([...sightings.counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  const results = { seeds, hours: Math.round(hours), calls, faults, seen }
  writeFileSync('.simulator/results.json', `${JSON.stringify(results, null, 2)}\n`)
}

export function describeRun(run: Run): string {
  const { seeds, hours, calls, faults, events } = run
  const seen = [...run.sightings.counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([what, times]) => `  ${times} × ${what}`)
  return [
    `${seeds} runs, ${Math.round(hours)} simulated hours, ${calls} calls, ${events} events, ${faults} faults:`,
    ...seen,
    '',
  ].join('\n')
}

/** The broken promise, the fewest steps that break it, how to run them again, and what happened. */
export function describeFailure({ plan, outcome, tried }: Shrunk): string {
  const numbers = plan.steps.map(({ number }) => number).join(',')
  return [
    outcome.failure?.stack ?? '',
    `Seed ${plan.seed} fails. The fewest steps that do, of ${tried} tries:`,
    ...plan.steps.map(({ number, gap, ...step }) => `  ${number}: ${gap} ms later, ${JSON.stringify(step)}`),
    `Run them again:\n  npm run simulate -- --seeds 1 --seed ${plan.seed} --steps ${numbers || 'none'}`,
    `What happened:\n  ${outcome.history.join('\n  ')}`,
  ].join('\n\n')
}
