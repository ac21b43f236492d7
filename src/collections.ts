import { features } from './features.js'
import type { AnyCollection } from './storage/storage.js'

/** Every collection of the service. Adapters such as IndexedDB need all of them before the first row. */
export const collections: readonly AnyCollection[] = features.flatMap(({ collections = [] }) => collections)
