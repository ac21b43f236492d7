import { dailyCounts, rates } from './rate.js'

export const rateFeature = {
  collections: [rates, dailyCounts],
}
