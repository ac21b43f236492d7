export const itemCallFeature = {
  areas: ['catalog'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
