export const notificationFeature = {
  areas: ['notifications', 'pay'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
