import { timers } from './timer.js'

export const timerFeature = {
  collections: [timers],
}
