import type { State } from '../../../src/index.js'
import type { ContractOptions } from '../../runtimes/runtime.js'
import type { Call } from '../api.js'
import type { Start, Started } from './contract.js'
import { settledState } from './settled.js'

/** Sooner than tokens and codes of a clock that runs expire. */
const FRESH_MS = 5 * 60_000

/**
 * Starts services that begin with what `make` made of what it is given. In process it is made once, and each later service
 * begins with its rows: most cases would take longer to prepare than to run. Other runtimes are asked for it each time, so
 * that they answer those calls too.
 */
export function prepared<T extends object, G = undefined>(
  make: (call: Call, given: G) => Promise<T>,
): (start: Start, given: G, options?: ContractOptions) => Promise<Started & T> {
  const made = new Map<string, { until: number; ready: Promise<{ told: T; state: State }> }>()
  return async (start, given, options = {}) => {
    const { over } = start
    if (!over) {
      const running = await start(options)
      return { ...running, ...(await make(running.call, given)) }
    }
    const first = async () => {
      const running = await start(options)
      const told = await make(running.call, given)
      const state = await settledState(running.state)
      return { told, state }
    }
    const key = JSON.stringify([given, options])
    const known = made.get(key)
    const fresh = known && known.until > Date.now() ? known : { until: Date.now() + FRESH_MS, ready: first() }
    made.set(key, fresh)
    const { told, state } = await fresh.ready
    return { ...(await over(state, options)), ...structuredClone(told) }
  }
}

type Scene<G extends unknown[], T> = (call: Call, ...given: G) => Promise<T>

const scenes = new WeakMap<Scene<never, unknown>, ReturnType<typeof prepared<{ made: unknown }, unknown[]>>>()

/** Starts a service that begins with what one function of `support/scenes/` makes, as `prepared` does. */
export async function startWith<G extends unknown[], T>(
  start: Start,
  make: Scene<G, T>,
  ...given: G
): Promise<Started & { made: T }> {
  const scene =
    scenes.get(make) ??
    prepared(
      async (call: Call, told: unknown[]): Promise<{ made: unknown }> => ({
        made: await make(call, ...(told as G)),
      }),
    )
  scenes.set(make, scene)
  return (await scene(start, given)) as Started & { made: T }
}
