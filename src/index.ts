import type { AssemblyOptions } from './composition/assembly-options.js'
import type { Service } from './composition/service.js'
import { createServiceOver } from './create-service.js'
import { schemaHistory } from './migrations/schema.js'
import { checkOptions } from './options.js'
import type { Storage } from './storage/storage.js'
import { serialStorage } from './storage/tables/serial.js'
import { Tables } from './storage/tables/tables.js'

export * from './core.js'

export interface ServiceOptions extends Omit<AssemblyOptions, 'storage'> {
  /** Default: in memory. */
  storage?: Storage
}

/** Creates a service. Every option has a default. Throws an Error where WebCrypto is missing. */
export function createService(options: ServiceOptions = {}): Service {
  // Spreading would make an empty object of what is none, such as a promise.
  checkOptions('createService', options)
  const { storage = serialStorage({ tables: new Tables(), history: schemaHistory }) } = options
  return createServiceOver({ ...options, storage })
}
