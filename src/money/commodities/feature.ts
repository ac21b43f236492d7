import { commodities } from './commodity.js'

export const commodityFeature = {
  areas: ['commodity', 'commodities'],
  load: async () => (await import('./routes.js')).commodityRoutes,
  describe: async () => (await import('./descriptions.js')).commodityTexts,
  collections: [commodities],
}
