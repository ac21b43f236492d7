export const snapshotFeature = {
  areas: ['_sandbox'],
  load: async () => (await import('./routes.js')).snapshotRoutes,
  describe: async () => (await import('./descriptions.js')).snapshotTexts,
}
