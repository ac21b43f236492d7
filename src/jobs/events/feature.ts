import { events } from './event.js'

export const eventFeature = {
  areas: ['events'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [events],
}
