export const signInFeature = {
  areas: ['session'],
  load: async () => (await import('./routes.js')).signInRoutes,
  describe: async () => (await import('./descriptions.js')).signInTexts,
}
