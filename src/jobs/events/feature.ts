import { events } from './event.js'

export const eventFeature = {
  areas: ['events'],
  load: async () => (await import('./routes.js')).eventRoutes,
  describe: async () => (await import('./descriptions.js')).eventTexts,
  collections: [events],
}
