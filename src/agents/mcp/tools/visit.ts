import { isLoopbackOrigin } from '../../../base/loopback.js'
import { Problem, problem } from '../../../base/problem.js'
import { parsedUrl } from '../../../base/text/foreign-url.js'
import { clientById } from '../../../consent/oidc/clients/client.js'
import type { ServiceContext } from '../../../http/context.js'
import { accountOf } from '../../../identity/accounts/account.js'
import { countMcpCall } from '../../../market/plans/plan.js'
import type { Admission } from '../../../market/purchases/purchase.js'
import type { Reader } from '../../../storage/storage.js'
import { type CallingAgent, readApproval } from '../../agents/request.js'
import type { ToolCall } from './tool.js'

export interface McpVisit {
  readonly agent: CallingAgent
  /** The account whose own server it is. Undefined: the master server. */
  readonly within: number | undefined
  readonly hops: number
  /** The `Mcp-Session-Id` that the client sent. */
  readonly sessionId: string | null
  readonly service: ServiceContext
  /** Whether the agent's token is still valid. Checked again by requests that wait. */
  readonly isAuthenticated: (tx: Reader) => Promise<boolean>
}

/** The Origin header: the page of a browser that calls. */
type McpVisitor = Pick<McpVisit, 'agent' | 'within'> & { readonly origin: string | null }

/** Throws `not_found` for the server of an unknown account, and `origin_refused`. */
export async function checkVisitor(tx: Reader, { agent, within, origin }: McpVisitor, baseUrl: string): Promise<void> {
  if (within !== undefined) await accountOf(tx, within)
  if (origin !== null && !(await isKnown(tx, origin, agent, baseUrl)))
    throw problem('origin_refused', {
      detail: 'An app may only call from the origins of its redirect URIs. Register a redirect URI of this page.',
    })
}

/**
 * Whether a page of this origin may call: one of the service, one of this machine if the service runs on it too, or one
 * of the app, by its redirect URIs. The requested address proves nothing, because a foreign name may resolve to the
 * service (DNS rebinding).
 */
async function isKnown(tx: Reader, origin: string, { client_id }: CallingAgent, baseUrl: string): Promise<boolean> {
  const own = new URL(baseUrl)
  if (origin === own.origin || (isLoopbackOrigin(own.origin) && isLoopbackOrigin(origin))) return true
  const client = await clientById(tx, client_id)
  return client?.metadata.redirect_uris.some((uri) => parsedUrl(uri)?.origin === origin) ?? false
}

/** Returns an approval that the agent requested. Throws `not_found` with a detail about the approval. */
export async function approvalNamed({ agent, service }: Pick<ToolCall, 'agent' | 'service'>, id: string) {
  try {
    return await service.storage.read((tx) => readApproval(tx, agent, id, service))
  } catch (cause) {
    if (!(cause instanceof Problem) || cause.code !== 'not_found') throw cause
    throw problem('not_found', { detail: 'You have no approval with this approval_id.', cause })
  }
}

/** The approval of a call: the one that the user gave in place, or the one that the agent names. Throws `not_found`. */
export async function givenApproval(call: ToolCall, named: string | undefined): Promise<string | undefined> {
  const id = call.approvalId ?? named
  return id === undefined ? undefined : (await approvalNamed(call, id)).approval_id
}

/** Counts a sale at an account's own server. Strangers could use up the plan by reads and refusals. Throws `plan_limit_reached`. */
export function countSales({ agent, within, service }: McpVisit): Admission {
  return async (tx, quotes) => {
    if (within === undefined || !quotes.some(({ item }) => item.account_id === within)) return
    try {
      await countMcpCall(tx, within, service.clock.now())
    } catch (error) {
      throw agent.account_id === within ? error : forBuyers(error)
    }
  }
}

function forBuyers(error: unknown): unknown {
  if (!(error instanceof Problem) || error.code !== 'plan_limit_reached') return error
  const { of, resets_at } = error.fields
  const until = new Date(Number(resets_at) * 1000).toISOString()
  return problem('plan_limit_reached', {
    detail: `This seller accepts no more calls until ${until}. Try again then.`,
    fields: { of, resets_at },
    cause: error,
  })
}
