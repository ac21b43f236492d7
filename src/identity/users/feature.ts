import { users } from './user.js'

export const userFeature = {
  areas: ['user', 'users'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [users],
}
