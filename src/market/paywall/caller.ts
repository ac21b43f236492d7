import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { actorOf, type Party } from '../../consent/personas/spending.js'
import type { PaywallAuthority, PaywallOrder, PaywallRequest } from './order.js'

/** A principal that can request payments through the paywall. */
export type PaywallCaller =
  | Exclude<Party, { kind: 'user' }>
  | { readonly kind: 'user'; readonly owner: Owner; readonly id: number; readonly via: 'token' | 'session' }
  | {
      readonly kind: 'page'
      readonly owner: Owner
      readonly user_id: number
      readonly account_id: number
      readonly origin: string
    }

/** What a caller sends apart from their identity. */
export interface CallerInput {
  readonly sessionId: string | undefined
  readonly delegate: string | undefined
  /** The approval of an agent's user. */
  readonly approvalId: string | undefined
  readonly request: PaywallRequest
}

/** Returns the authority by which a caller makes a user pay. Throws `delegate_required`. */
export function callerFields(
  caller: PaywallCaller,
  { sessionId = '', ...input }: CallerInput,
): Pick<PaywallOrder, 'authority' | 'actor' | 'sellerId' | 'origin'> {
  if (caller.kind === 'page') {
    const { owner: payer, user_id: userId, account_id: sellerId, origin } = caller
    // A page cannot use a delegate, because that would bypass the user's approval.
    return { authority: { by: 'session', payer, userId, sessionId }, actor: payer, sellerId, origin }
  }
  const sellerId = caller.kind === 'embed' ? caller.account_id : undefined
  return {
    authority: authorityOf(caller, { ...input, sessionId }),
    actor: actorOf(caller),
    sellerId,
    origin: undefined,
  }
}

function authorityOf(
  caller: Exclude<PaywallCaller, { kind: 'page' }>,
  input: CallerInput & { sessionId: string },
): PaywallAuthority {
  const { sessionId, delegate, approvalId, request } = input
  if (delegate !== undefined) return { by: 'delegate', hash: delegate, party: caller }
  if (caller.kind === 'user') {
    const { owner: payer, id: userId } = caller
    return caller.via === 'token' ? { by: 'token', payer } : { by: 'session', payer, userId, sessionId }
  }
  if (caller.kind === 'agent') return { by: 'agent', agent: caller, request, approvalId }
  throw problem('delegate_required')
}
