export const topupFeature = {
  areas: ['twin'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
