import { createService, type State } from '../../../src/index.js'
import { type Call, caller } from '../api.js'

/** What is long in the making is made once, and carried into each service as a snapshot. */
export function madeOnce<T>(make: (call: Call) => Promise<T>): () => Promise<T & { snapshot: State }> {
  let made: Promise<T & { snapshot: State }> | undefined
  return () => {
    made ??= (async () => {
      const service = createService({ sandbox: true })
      const told = await make(caller({ url: service.baseUrl, fetch: service.fetch }))
      const snapshot = await service.sandbox.snapshot()
      await service.close()
      return { ...told, snapshot }
    })()
    return made
  }
}
