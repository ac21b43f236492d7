export const embedFeature = {
  areas: ['embed', 'payback', 'verify', 'micropay.js'],
  load: async () => (await import('./routes.js')).embedRoutes,
  describe: async () => (await import('./descriptions.js')).embedTexts,
}
