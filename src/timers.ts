import type { TimerJob } from './schedule/timer.js'

/** What is done when a timer falls due, by its kind. */
export const jobs: Readonly<Record<string, TimerJob>> = {}
