export const replayFeature = {
  areas: ['_sandbox'],
  load: async () => (await import('./routes.js')).replayRoutes,
  describe: async () => (await import('./descriptions.js')).replayTexts,
}
