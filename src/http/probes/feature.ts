export const probeFeature = {
  areas: ['healthz', 'readyz'],
  load: async () => (await import('./routes.js')).probeRoutes,
}
