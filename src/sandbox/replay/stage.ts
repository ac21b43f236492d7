import type { ServiceContext } from '../../http/context.js'
import { StateForgotten } from '../../storage/history/history.js'
import { type PastMoment, sandboxOf } from '../onion/context.js'

/** A request that is sent again. */
export interface Resent {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** The id of the entry that it repeats. */
  readonly causedBy?: string
}

/** Where a request is sent again: the sandbox itself, or a fork of it. */
export interface ReplayStage {
  readonly service: ServiceContext
  readonly isFork: boolean
  /** Its state: that of now, or that before the first request. */
  readonly state: 'now' | 'before'
  send(request: Resent): Promise<Response>
  close(): Promise<void>
}

/** The sandbox itself. */
export function stageInPlace(service: ServiceContext): ReplayStage {
  return { ...over(service), isFork: false, state: 'now', close: async () => {} }
}

/**
 * A fork, in the state and at the time of a moment in the past, if the history reaches so far. Otherwise in those of now:
 * some services keep no history.
 */
export async function stageInFork(service: ServiceContext, past: PastMoment | undefined): Promise<ReplayStage> {
  const fork = await openFork(service, past)
  return { ...over(fork.service), isFork: true, state: fork.state, close: fork.close }
}

async function openFork(service: ServiceContext, past: PastMoment | undefined) {
  const sandbox = sandboxOf(service)
  if (past)
    try {
      return { ...(await sandbox.openFork(past)), state: 'before' as const }
    } catch (error) {
      if (!(error instanceof StateForgotten)) throw error
    }
  return { ...(await sandbox.openFork()), state: 'now' as const }
}

const over = (service: ServiceContext) => ({ service, send: (request: Resent) => sendTo(service, request) })

/** Sends a request to a service. It comes over no network, so it passes the guards of the sandbox. */
function sendTo(service: ServiceContext, { method, path, headers, body, causedBy }: Resent): Promise<Response> {
  const sandbox = sandboxOf(service)
  const request = new Request(service.baseUrl + path, { method, headers, ...(body !== null && { body }) })
  return sandbox.respond(request, { headers: new Headers(headers), ...(causedBy !== undefined && { causedBy }) })
}
