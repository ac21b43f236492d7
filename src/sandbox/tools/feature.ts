export const toolFeature = {
  areas: ['_sandbox'],
  load: async () => (await import('./routes.js')).toolRoutes,
  describe: async () => (await import('./descriptions.js')).toolTexts,
}
