export const notificationFeature = {
  areas: ['notifications', 'pay'],
  load: async () => (await import('./routes.js')).notificationRoutes,
  describe: async () => (await import('./descriptions.js')).notificationTexts,
}
