export const probeFeature = { areas: ['healthz', 'readyz'], load: () => import('./routes.js') }
