export const snapshotFeature = {
  areas: ['_sandbox'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
