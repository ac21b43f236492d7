import type { Service } from '../../src/index.js'
import type { SandboxAccess } from '../../src/sandbox/onion/context.js'
import type { Demo } from '../seed/demo.js'

/** What the sandbox's pages are created with. */
export interface SandboxPages {
  readonly service: Service
  /** Pages show the demo only if the service's state has it. */
  readonly demo: Demo
  /** Who else may open the pages; the same as for the service. Default: only this machine and its pages. */
  readonly reach?: SandboxAccess
  /** The folder of the built offline demo. */
  readonly offline?: URL
}
