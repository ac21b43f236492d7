export const metricsFeature = {
  areas: ['metrics'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
