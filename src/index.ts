import { createService as createServiceOver, type ServiceOptions as OptionsOver, type Service } from './service.js'
import { serialStorage } from './storage/serial.js'
import type { Storage } from './storage/storage.js'
import { Tables } from './storage/tables.js'

export * from './core.js'

export interface ServiceOptions extends Omit<OptionsOver, 'storage'> {
  /** Default: this process's memory. */
  storage?: Storage
}

/** Puts a service together. Every option has a default. */
export const createService = ({ storage, ...options }: ServiceOptions = {}): Service =>
  createServiceOver({ storage: storage ?? serialStorage({ tables: new Tables() }), ...options })
