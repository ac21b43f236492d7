import { dailyCounts } from './daily-count.js'
import { rates } from './rate.js'

export const rateFeature = {
  collections: [rates, dailyCounts],
}
