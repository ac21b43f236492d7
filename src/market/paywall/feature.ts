export const paywallFeature = {
  areas: ['paywall'],
  load: async () => (await import('./routes.js')).paywallRoutes,
  describe: async () => (await import('./descriptions.js')).paywallTexts,
}
