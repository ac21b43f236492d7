import { Problem } from '../../base/problem.js'
import type { Reader } from '../../storage/storage.js'
import type { Caller } from '../caller.js'
import type { ServiceContext } from '../context.js'
import { FAULT_HEADER, type Faults } from '../faults.js'
import type { Endpoint, Incoming } from '../incoming.js'
import { principalName } from '../principal-name.js'
import type { RenderedAnswer } from '../rendered-answer.js'
import { guardControls } from '../sandbox-guard.js'

interface FaultyRun {
  readonly endpoint: Endpoint
  readonly incoming: Incoming
  readonly service: ServiceContext
  readonly faults: Faults
  /** Finds the caller. */
  authenticate(tx: Reader): Promise<Caller>
}

/**
 * Handles a request to which faults may happen. Throws `sandbox_refused` if a caller who may not use the controls sends
 * a fault of their own, and `AnswerDropped`.
 */
export async function performWithFaults(
  run: () => Promise<RenderedAnswer>,
  { endpoint, incoming, service, faults, authenticate }: FaultyRun,
): Promise<RenderedAnswer> {
  const header = incoming.headers.get(FAULT_HEADER)
  if (header !== null) guardControls(incoming, service)
  const engine = faults.engine ?? (await faults.load())
  const { method, path } = incoming
  return engine.perform({
    ...{ operationId: endpoint.route.id, method, path, header },
    takesBody: incoming.request.method !== 'HEAD',
    principal: () => nameOfCaller(incoming, service, authenticate),
    run,
    note(faultId, { isLost }) {
      incoming.fault = faultId
      if (!isLost) return
      incoming.session = undefined
      incoming.issued = false
    },
  })
}

/** Null if the credentials are refused: the handler says so. */
async function nameOfCaller(
  incoming: Incoming,
  { storage }: ServiceContext,
  authenticate: FaultyRun['authenticate'],
): Promise<string | null> {
  try {
    incoming.principal = (await storage.read(authenticate)).principal
    return principalName(incoming.principal)
  } catch (error) {
    if (error instanceof Problem) return null
    throw error
  }
}
