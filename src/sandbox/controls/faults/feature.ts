export const faultFeature = {
  areas: ['_sandbox'],
  load: async () => (await import('./routes.js')).faultRoutes,
  describe: async () => (await import('./descriptions.js')).faultTexts,
}
