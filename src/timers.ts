import type { TimerJob } from './schedule/timer.js'
import { answerAsPhone } from './second-factor/answer.js'
import { PHONE_ANSWERS } from './second-factor/phone.js'

/** What is done when a timer falls due, by its kind. */
export const jobs: Readonly<Record<string, TimerJob>> = { [PHONE_ANSWERS]: answerAsPhone }
