import { problem } from './problem.js'

/** Loads a part of the service on its first use: `load(() => import('./part.js'))`. Throws `not_loaded` if it fails twice. */
export async function load<T>(part: () => Promise<T>): Promise<T> {
  try {
    // Jest fails a module whose imports load for another one at the same time, and only the first time.
    return await part().catch(part)
  } catch (cause) {
    throw problem('not_loaded', { cause })
  }
}
