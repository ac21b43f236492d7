export const paidCallFeature = {
  areas: ['catalog'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
