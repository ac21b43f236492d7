export const forkFeature = {
  areas: ['_sandbox'],
  load: async () => (await import('./routes.js')).forkRoutes,
  describe: async () => (await import('./descriptions.js')).forkTexts,
}
