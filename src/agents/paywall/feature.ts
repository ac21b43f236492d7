export const paywallFeature = {
  areas: ['paywall'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
