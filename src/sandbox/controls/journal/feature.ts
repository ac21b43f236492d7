export const journalFeature = {
  areas: ['_sandbox'],
  load: async () => (await import('./routes.js')).journalRoutes,
  describe: async () => (await import('./descriptions.js')).journalTexts,
}
