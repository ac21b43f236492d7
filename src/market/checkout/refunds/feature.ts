export const checkoutRefundFeature = {
  areas: ['checkout'],
  load: async () => (await import('./routes.js')).checkoutRefundRoutes,
  describe: async () => (await import('./descriptions.js')).checkoutRefundTexts,
}
