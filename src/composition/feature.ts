import { load } from '../base/parts.js'
import type { FeatureTexts } from '../http/openapi/texts.js'
import type { Route } from '../http/route.js'
import type { RoutedFeature } from '../http/routing/router.js'
import type { TimerJobs } from '../jobs/schedule/run.js'
import type { AnyCollection } from '../storage/storage.js'

/** All that a feature adds to the service. What only its routes need is loaded with the first request to them. */
export interface Feature extends Partial<RoutedFeature> {
  /** Loads what its operations and fields mean: a module that exports nothing else. */
  describe?(): Promise<Readonly<Record<string, FeatureTexts>>>
  readonly collections?: readonly AnyCollection[]
  /** What loads the job of each kind of timer, when one is due. */
  readonly timers?: TimerJobs
}

/** Loads the routes of all, in their order. Throws `not_loaded`. */
export async function loadRoutesOf(features: readonly Feature[]): Promise<Readonly<Record<string, Route>>> {
  const loaded = await load(() => Promise.all(features.map((feature) => feature.load?.() ?? {})))
  return Object.assign({}, ...loaded.flatMap(Object.values))
}

/** What the service says about itself: its document, and its error codes. `all` returns every feature, this one too. */
export function metaFeature(all: () => readonly Feature[]) {
  let list: readonly Route[] | undefined
  const routes = async () => (list ??= Object.values(await loadRoutesOf(all())))
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
