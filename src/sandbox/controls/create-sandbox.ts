import type { ServiceContext } from '../../http/context.js'
import { exportControls } from '../exports/controls.js'
import { faultControls } from '../faults/controls.js'
import { requestControls } from '../journal/requests.js'
import { callerControls, replayControls } from '../replay/controls.js'
import { approvalsOf, peopleControls } from './people-controls.js'
import type { Sandbox } from './sandbox.js'
import { serviceControls } from './service-controls.js'
import { readCredentials, stateControls } from './state-controls.js'

/** Returns all controls of a service. `ready` resolves when the start has restored state and clock. */
export function createSandbox(service: ServiceContext, ready: () => Promise<void>): Sandbox {
  let queue: Sandbox['approvals'] | undefined
  return {
    ...serviceControls(service, ready),
    ...stateControls(service, ready),
    ...peopleControls(service, ready),
    ...callerControls(service, ready),
    credentials: () => ready().then(() => readCredentials(service)),
    get approvals() {
      queue ??= approvalsOf(service, ready)
      return queue
    },
    requests: {
      ...requestControls(service, ready),
      ...replayControls(service, ready),
      ...exportControls(service, ready),
    },
    faults: faultControls(service, ready),
  }
}
