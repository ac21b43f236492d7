export const metricsFeature = {
  areas: ['metrics'],
  load: async () => (await import('./routes.js')).metricsRoutes,
  describe: async () => (await import('./descriptions.js')).metricsTexts,
}
