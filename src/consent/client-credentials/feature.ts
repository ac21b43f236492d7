export const clientCredentialFeature = {
  areas: ['user'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
