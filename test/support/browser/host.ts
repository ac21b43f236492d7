import { serve } from '../../../adapters/node.js'
import { createService, type Service, type ServiceOptions } from '../../../src/index.js'
import { type Call, caller } from '../api.js'

/** A service alone, over HTTP on loopback. */
export interface Host {
  readonly url: string
  readonly call: Call
  readonly service: Service
  close(): Promise<void>
}

export async function startHost(options: Omit<ServiceOptions, 'baseUrl' | 'sandbox'> = {}): Promise<Host> {
  let service: Service | undefined
  const served = await serve(
    (baseUrl) => {
      service = createService({ ...options, baseUrl, sandbox: true })
      return service
    },
    { port: 0 },
  )
  return {
    url: served.url,
    call: caller({ url: served.url, fetch: (request) => fetch(request) }),
    service: service as Service,
    async close() {
      await served.close()
      await service?.close()
    },
  }
}
