import { type AssemblyOptions, assembleService, type Service } from './service.js'
import { serialStorage } from './storage/serial.js'
import type { Storage } from './storage/storage.js'
import { Tables } from './storage/tables.js'

export * from './core.js'

export interface ServiceOptions extends Omit<AssemblyOptions, 'storage'> {
  /** Default: in memory. */
  storage?: Storage
}

/** Creates a service. Every option has a default. */
export const createService = ({ storage, ...options }: ServiceOptions = {}): Service =>
  assembleService({ storage: storage ?? serialStorage({ tables: new Tables() }), ...options })
