import { problem } from './problem.js'

/** Loads a part of the service on its first use: `load(() => import('./part.js'))`. Throws `not_loaded`. */
export async function load<T>(part: () => Promise<T>): Promise<T> {
  try {
    return await part()
  } catch (cause) {
    throw problem('not_loaded', { cause })
  }
}
