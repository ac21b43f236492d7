import type { SandboxReach } from '../../src/http/context.js'
import type { Service } from '../../src/index.js'
import type { Demo } from '../seed/demo.js'

/** What the sandbox's pages show, and whose they are. */
export interface SandboxPages {
  readonly service: Service
  /** Shown where the service's state holds it. */
  readonly demo: Demo
  /** As the service's own. Default: this machine and its pages alone. */
  readonly reach?: SandboxReach
  /** Where the offline demo was built. */
  readonly offline?: URL
}
