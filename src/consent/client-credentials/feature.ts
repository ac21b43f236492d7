export const clientCredentialFeature = {
  areas: ['user'],
  load: async () => (await import('./routes.js')).clientCredentialRoutes,
  describe: async () => (await import('./descriptions.js')).clientCredentialTexts,
}
