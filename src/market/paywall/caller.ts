import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { actorOf, type Party } from '../../consent/personas/spending.js'
import type { PaywallAuthority, PaywallOrder, PaywallWish } from './order.js'

/** A principal that may ask the paywall for payments. */
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

/** What a caller brings beside who they are. */
export interface Brought {
  readonly sessionId: string | undefined
  readonly delegate: string | undefined
  /** Of what an agent's user approved. */
  readonly approvalId: string | undefined
  readonly wish: PaywallWish
}

/** By what right a caller has a user pay. Throws `delegate_required`. */
export function rightOf(
  caller: PaywallCaller,
  { sessionId = '', ...brought }: Brought,
): Pick<PaywallOrder, 'authority' | 'actor' | 'sellerId' | 'origin'> {
  if (caller.kind === 'page') {
    const { owner: payer, user_id: userId, account_id: sellerId, origin } = caller
    // A page has what it was given and nothing more: a delegate is no way around its reader's approval.
    return { authority: { by: 'session', payer, userId, sessionId }, actor: payer, sellerId, origin }
  }
  const sellerId = caller.kind === 'embed' ? caller.account_id : undefined
  return {
    authority: authorityOf(caller, { ...brought, sessionId }),
    actor: actorOf(caller),
    sellerId,
    origin: undefined,
  }
}

function authorityOf(
  caller: Exclude<PaywallCaller, { kind: 'page' }>,
  brought: Brought & { sessionId: string },
): PaywallAuthority {
  const { sessionId, delegate, approvalId, wish } = brought
  if (delegate !== undefined) return { by: 'delegate', hash: delegate, party: caller }
  if (caller.kind === 'user') {
    const { owner: payer, id: userId } = caller
    return caller.via === 'token' ? { by: 'token', payer } : { by: 'session', payer, userId, sessionId }
  }
  if (caller.kind === 'agent') return { by: 'agent', agent: caller, wish, approvalId }
  throw problem('delegate_required')
}
