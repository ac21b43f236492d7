import type { AssemblyOptions } from './composition/assembly-options.js'
import { sandboxed } from './composition/sandboxed.js'
import type { Service } from './composition/service.js'
import { checkOptions } from './options.js'
import { allParts } from './parts.js'
import { assembleService } from './service.js'

/** Creates a service over a storage. Every other option has a default. Throws a TypeError that names a wrong option. */
export function createServiceOver(options: AssemblyOptions): Service {
  // Spreading would make an empty object of what is none, such as a promise.
  checkOptions('createService', options)
  return assembleService({ ...options, parts: options.parts ?? allParts }, sandboxed)
}
