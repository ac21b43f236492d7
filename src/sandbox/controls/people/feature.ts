export const peopleFeature = {
  areas: ['_sandbox'],
  load: async () => (await import('./routes.js')).peopleRoutes,
  describe: async () => (await import('./descriptions.js')).peopleTexts,
}
