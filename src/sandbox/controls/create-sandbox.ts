import type { ServiceContext } from '../../http/context.js'
import { exportControls } from '../exports/controls.js'
import { faultControls } from '../faults/controls.js'
import { requestControls } from '../journal/requests.js'
import { callerControls, replayControls } from '../replay/controls.js'
import { approvalQueue, peopleControls } from './people-controls.js'
import type { Sandbox } from './sandbox.js'
import type { Seed } from './seed/seed-schema.js'
import { serviceControls } from './service-controls.js'
import { readCredentials, stateControls } from './state-controls.js'

/** Returns all controls of a service. `ready` resolves when the start has restored state and clock. */
export function createSandbox(service: ServiceContext, seed: Seed, ready: () => Promise<void>): Sandbox {
  const people = peopleControls(service, ready)
  return {
    ...serviceControls(service, ready),
    ...stateControls(service, ready),
    ...people,
    ...callerControls(service, ready),
    credentials: () => ready().then(() => readCredentials(seed, service)),
    approvals: approvalQueue(service, people),
    requests: {
      ...requestControls(service, ready),
      ...replayControls(service, ready),
      ...exportControls(service, ready),
    },
    faults: faultControls(service, ready),
  }
}
