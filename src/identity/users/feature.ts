import { users } from './user.js'

export const userFeature = {
  areas: ['user', 'users'],
  load: async () => (await import('./routes.js')).userRoutes,
  describe: async () => (await import('./descriptions.js')).userTexts,
  collections: [users],
}
