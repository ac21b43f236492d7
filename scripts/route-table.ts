import { loadTexts } from '../src/composition/descriptions.js'
import { features } from '../src/features.js'
import type { Route } from '../src/http/route.js'
import { loadRoutes } from '../src/routes.js'

/** The route table, and what it says in words, for scripts and tests that read them at once. */
export const routes = await loadRoutes()
export const routeList: readonly Route[] = Object.values(routes)
export const texts = await loadTexts(features)
