import { type Feature, loadRoutesOf } from './feature.js'

/** What the service says about itself: its document, and its error codes. `all` returns every feature, this one too. */
export function metaFeature(all: () => readonly Feature[]) {
  const routes = async () => Object.values(await loadRoutesOf(all()))
  const texts = async () => (await import('./descriptions.js')).loadTexts(all())
  return {
    areas: ['openapi.json', 'docs'],
    async load() {
      const { openapiRoutes } = await import('../http/openapi/read-openapi.js')
      const { errorCodeRoutes } = await import('../http/error-pages/read-errors.js')
      return { metaRoutes: { ...openapiRoutes(routes, texts), ...errorCodeRoutes(routes) } }
    },
    describe: () => import('./meta-texts.js'),
  }
}
