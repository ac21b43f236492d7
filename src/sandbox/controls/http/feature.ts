export const controlFeature = {
  areas: ['_sandbox', 'metrics'],
  async load() {
    const { controlRoutes, metricsRoutes, peopleRoutes } = await import('./routes.js')
    const { faultRoutes, journalRoutes, replayRoutes } = await import('../journal/routes.js')
    const { dataRoutes, rehearsalRoutes, walletRoutes } = await import('../data/routes.js')
    const { forkRoutes, snapshotRoutes } = await import('../snapshots/routes.js')
    // In the order of the documentation.
    return {
      ...{ metricsRoutes, faultRoutes, peopleRoutes, controlRoutes },
      ...{ journalRoutes, snapshotRoutes, forkRoutes, replayRoutes, rehearsalRoutes },
      ...{ dataRoutes, walletRoutes },
    }
  },
  describe: () => import('./descriptions.js'),
}
