export const signInFeature = {
  areas: ['session'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
