import type { AssemblyOptions } from './composition/assembly-options.js'
import { schemaHistory } from './migrations/schema.js'
import { checkOptions } from './options.js'
import { allParts } from './parts.js'
import { assembleService, type Service } from './service.js'
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
  const { storage = serialStorage({ tables: new Tables(), history: schemaHistory }), parts = allParts } = options
  return assembleService({ ...options, storage, parts })
}
