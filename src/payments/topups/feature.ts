export const topupFeature = {
  areas: ['twin'],
  load: async () => (await import('./routes.js')).topupRoutes,
  describe: async () => (await import('./descriptions.js')).topupTexts,
}
