import { expect } from 'vitest'
import { routes } from '../../scripts/route-table.js'
import type { Version } from '../../src/http/route.js'
import type {
  OperationBody,
  OperationErrors,
  OperationId,
  OperationParams,
  OperationQuery,
  OperationResult,
} from '../../src/routes.js'
import type { Call, CallOptions } from './api.js'

export type Sent<Id extends OperationId> = Pick<CallOptions, 'token' | 'session' | 'headers'> & {
  readonly params?: OperationParams<Id>
  readonly query?: OperationQuery<Id>
  readonly body?: OperationBody<Id>
  /** Default: the first that the operation has. */
  readonly version?: Version
}

/** Calls an operation by its id, with the types of the route table. Fails the test if the call is refused. */
export async function callOperation<Id extends OperationId>(
  call: Call,
  id: Id,
  sent: Sent<Id> = {},
): Promise<OperationResult<Id>> {
  const { status, body } = await send(call, id, sent)
  expect(body?.code, `${id} is not refused`).toBeUndefined()
  expect(status).toBeLessThan(300)
  return body
}

/** Like `callOperation` for a call that must be refused. Returns the code of the problem. */
export async function refusedOperation<Id extends OperationId>(
  call: Call,
  id: Id,
  sent: Sent<Id> = {},
): Promise<OperationErrors<Id>> {
  const { status, body } = await send(call, id, sent)
  expect(status, `${id} is refused`).toBeGreaterThanOrEqual(400)
  return body.code
}

function send<Id extends OperationId>(
  call: Call,
  id: Id,
  { params, query, body, version, ...credentials }: Sent<Id>,
): ReturnType<Call> {
  const { method, path, versions }: { method: string; path: string; versions?: readonly Version[] } = routes[id]
  const prefix = version ?? versions?.[0]
  const parts = new Map(Object.entries(params ?? {}))
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(parts.get(name))))
  const search = new URLSearchParams(Object.entries(query ?? {}).map(([name, value]) => [name, String(value)]))
  const address = `${prefix ? `/${prefix}` : ''}${filled}${search.size > 0 ? `?${search}` : ''}`
  return call(method, address, { ...credentials, ...(body !== undefined && { body }) })
}
