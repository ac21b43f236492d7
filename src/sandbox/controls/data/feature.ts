export const dataFeature = {
  areas: ['_sandbox'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
