export const checkoutRefundFeature = {
  areas: ['checkout'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
