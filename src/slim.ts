/** The service without what is large and rarely used. `farthing/parts` has each such part, to be given to `createService`. */

export type { Part } from './base/parts.js'
export { VERSION } from './base/version.js'
export type { AssemblyOptions as ServiceOptions } from './composition/assembly-options.js'
export type { Service } from './composition/service.js'
export { createSlimService as createService } from './composition/slim-service.js'
