import { processes } from './process-rows.js'

export const processFeature = {
  collections: [processes],
}
