import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import {
  type Agent,
  type ApprovalTerms,
  approvalOfAgent,
  approvalOfUser,
  createPendingApproval,
  type ShownApproval,
  showApproval,
  showToUser,
} from '../../consent/approvals/approval.js'
import { offeredApproval, takeOffer } from '../../consent/approvals/offer.js'
import { currentGrant } from '../../consent/oidc/agent.js'
import type { ServiceContext } from '../../http/context.js'
import { z } from '../../http/fields/schema.js'
import { checkUpstreamUrl } from '../../jobs/upstream/policy.js'
import { holderOf, openCart } from '../../market/carts/cart.js'
import { cartTerms, quoteLines } from '../../market/carts/line.js'
import { paywallQuote, paywallTerms } from '../../market/paywall/paywall.js'
import { checkPrice, purchaseTerms, quoteItem } from '../../market/purchases/purchase.js'
import { agentTwinOf } from '../../payments/payments/payer.js'
import { transferTerms } from '../../payments/transfers/create-transfer.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { accountChangeTerms } from './changes/change.js'

/** An agent that sends a request. The principal of a route is one. */
export interface CallingAgent extends Agent {
  readonly kind: 'agent'
  /** The agent's user. */
  readonly owner: Owner
  readonly family_id: string
}

const parameters = z.optional(z.record(z.string(), z.unknown()))
const dq = z.optional(z.string())

const wishFields = z.union([
  z.object({
    kind: z.literal('purchase'),
    catalog_item_id: z.number(),
    arguments: parameters,
    // The price that the agent saw.
    price: z.optional(z.union([z.number(), z.string()])),
    dq,
  }),
  z.object({
    kind: z.literal('paywall'),
    amount: z.number(),
    dq,
    destination: z.optional(z.string()),
    serviceUrl: z.optional(z.string()),
    serviceMethod: z.optional(z.enum(['GET', 'POST', 'PUT'])),
    additionalParams: parameters,
  }),
  z.object({
    kind: z.literal('transfer'),
    address: z.string(),
    amount: z.number(),
    dq,
    memo: z.optional(z.nullable(z.string())),
  }),
  z.object({ kind: z.literal('cart'), cart_id: z.number() }),
  z.object({ kind: z.literal('account_change'), change: z.record(z.string(), z.unknown()) }),
])

/** A request for approval: its kind, and the fields of the call to approve. */
export type ApprovalWish = z.output<typeof wishFields>

/**
 * Asks the agent's user to approve a call. If a refusal of this call already offered an approval, returns that one.
 * `within`: the account whose own server the agent calls. Throws `token_invalid`, `too_many_pending`, and what the call itself would throw before it changes anything.
 */
export async function requestApproval(
  tx: Writer,
  agent: CallingAgent,
  wish: ApprovalWish,
  service: ServiceContext,
  within?: number,
): Promise<ShownApproval> {
  const caller = { ...agent, ...(await currentGrant(tx, agent)) }
  const terms = await termsOf(tx, caller, { wish, within }, service)
  const offer = await takeOffer(tx, caller, terms, service.clock.now())
  return showApproval(offer ?? (await createPendingApproval(tx, caller, terms, service)), service)
}

export interface OfferedApproval extends ShownApproval {
  /** Whether an earlier refusal of the same call offered it too. */
  readonly isRepeated: boolean
}

/**
 * Returns the approval that the refusal of a call offers, or undefined if too many are pending. Throws `token_invalid`,
 * and what the call itself would throw before it changes anything.
 */
export async function offerApproval(
  tx: Writer,
  agent: CallingAgent,
  wish: ApprovalWish,
  service: ServiceContext,
  within?: number,
): Promise<OfferedApproval | undefined> {
  const caller = { ...agent, ...(await currentGrant(tx, agent)) }
  const offer = await offeredApproval(tx, caller, await termsOf(tx, caller, { wish, within }, service), service)
  return offer && { ...showApproval(offer.row, service), isRepeated: offer.isRepeated }
}

async function termsOf(
  tx: Writer,
  agent: CallingAgent,
  { wish, within }: { wish: ApprovalWish; within: number | undefined },
  service: ServiceContext,
): Promise<ApprovalTerms> {
  switch (wish.kind) {
    case 'purchase': {
      const { catalog_item_id: itemId, arguments: args = {} } = wish
      const quote = await quoteItem(tx, { itemId, args, within })
      checkPrice(quote, wish)
      return purchaseTerms(quote, args)
    }
    case 'paywall': {
      const { kind: _, ...request } = wish
      const { serviceUrl } = request
      const url = serviceUrl === undefined ? undefined : checkUpstreamUrl(serviceUrl, service)
      const quote = await paywallQuote(tx, { request, url, sellerId: undefined }, await agentTwinOf(tx, agent))
      return paywallTerms(tx, request, quote)
    }
    case 'transfer':
      return transferTerms(tx, { ...wish, sender: agent.owner })
    case 'cart': {
      const place = { id: wish.cart_id, holder: holderOf(agent, ''), within, at: service.clock.now() }
      return cartTerms(wish.cart_id, await quoteLines(tx, await openCart(tx, place), place))
    }
    case 'account_change':
      return accountChangeTerms(tx, agent, wish.change, service)
  }
}

/** Required fields of each kind. */
const needed = {
  purchase: ['catalog_item_id'],
  paywall: ['amount'],
  transfer: ['address', 'amount'],
  cart: ['cart_id'],
  account_change: ['change'],
} as const satisfies Record<ApprovalWish['kind'], readonly string[]>

/** Kinds that move value. */
export const wishKinds = ['purchase', 'paywall', 'transfer', 'cart'] as const satisfies ApprovalWish['kind'][]

/** Checks that a request has the fields of its kind. Throws `field_invalid`. */
export function wishOf(
  fields: { readonly kind: ApprovalWish['kind'] } & Readonly<Record<string, unknown>>,
): ApprovalWish {
  for (const field of needed[fields.kind])
    if (fields[field] === undefined)
      throw problem('field_invalid', {
        detail: `"${field}" is missing: a ${fields.kind} needs it.`,
        fields: { field },
      })
  return wishFields.parse(fields)
}

/** Returns an approval for its agent or its user. Throws `not_found`. */
export async function readApproval(
  tx: Reader,
  caller: (Agent & { readonly kind: 'agent' }) | { readonly kind: 'user'; readonly id: number },
  id: string,
  context: Pick<ServiceContext, 'baseUrl' | 'clock'>,
) {
  if (caller.kind === 'agent') return showApproval(await approvalOfAgent(tx, caller, id), context)
  return showToUser(await approvalOfUser(tx, caller.id, id), context)
}
