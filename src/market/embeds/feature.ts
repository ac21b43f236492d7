export const embedFeature = {
  areas: ['embed', 'payback', 'verify', 'micropay.js'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
