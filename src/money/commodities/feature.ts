import { commodities } from './commodity.js'

export const commodityFeature = {
  areas: ['commodity', 'commodities'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [commodities],
}
