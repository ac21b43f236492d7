export const controlFeature = {
  areas: ['_sandbox'],
  load: async () => (await import('./routes.js')).controlRoutes,
  describe: async () => (await import('./descriptions.js')).controlTexts,
}
