import { assembleService } from '../service.js'
import type { AssemblyOptions } from './assembly-options.js'
import { sandboxed } from './sandboxed.js'
import type { Service } from './service.js'

/**
 * Creates a service over a storage. Every other option has a default. Throws a TypeError that names a wrong option, and an
 * Error where WebCrypto is missing.
 */
export function createSlimService(options: AssemblyOptions): Service {
  return assembleService(options, sandboxed)
}
