export const merchantPaymentFeature = {
  areas: ['paywall'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
