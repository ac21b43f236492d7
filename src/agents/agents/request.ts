import type { Owner } from '../../base/owner.js'
import { Problem, problem } from '../../base/problem.js'
import {
  type Agent,
  type ApprovalRow,
  type ApprovalTerms,
  approvalOfAgent,
  approvalOfUser,
  approvalStatus,
  approvals,
  approvalUrl,
  bindingOf,
  createPendingApproval,
  type ShownApproval,
  showApproval,
  showToUser,
} from '../../consent/approvals/approval.js'
import { currentGrant } from '../../consent/oidc/token.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { ServiceMethod, z } from '../../http/fields/schema.js'
import { checkUpstreamUrl } from '../../jobs/upstream/policy.js'
import { holderOf, openCart } from '../../market/carts/cart.js'
import { cartTerms, quoteLines } from '../../market/carts/pay.js'
import { paywallQuote, paywallTerms } from '../../market/paywall/paywall.js'
import { checkPrice, purchaseTerms, quoteItem } from '../../market/purchases/purchase.js'
import { agentTwinOf } from '../../payments/payments/payer.js'
import { transferTerms } from '../../payments/transfers/create-transfer.js'
import { allRows } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import { accountChangeTerms } from './changes/change.js'

/** An agent that sends a request. The principal of a route is one. */
export type CallingAgent = Agent & { readonly kind: 'agent'; readonly owner: Owner; readonly family_id: string }
const parameters = z.optional(z.record(z.string(), z.unknown()))
const optionalText = z.optional(z.string())

/** The fields of each kind of call. */
const wishFields = {
  // The price is what the agent saw.
  purchase: z.object({
    ...{ catalog_item_id: z.number(), arguments: parameters, price: z.optional(z.union([z.number(), z.string()])) },
    dq: optionalText,
  }),
  paywall: z.object({
    ...{ amount: z.number(), dq: optionalText, destination: optionalText, serviceUrl: optionalText },
    ...{ serviceMethod: z.optional(ServiceMethod), additionalParams: parameters },
  }),
  transfer: z.object({
    address: z.string(),
    amount: z.number(),
    dq: optionalText,
    memo: z.optional(z.nullable(z.string())),
  }),
  cart: z.object({ cart_id: z.number() }),
  account_change: z.object({ change: z.record(z.string(), z.unknown()) }),
}

type WishKind = keyof typeof wishFields
type ApprovalWish = { [K in WishKind]: { readonly kind: K } & z.output<(typeof wishFields)[K]> }[WishKind]

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

/** The approval that a refusal offers, or undefined if too many are pending. Throws `token_invalid`, and what the call would throw. */
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

type Wished = { readonly wish: ApprovalWish; readonly within: number | undefined }

async function termsOf(tx: Writer, agent: CallingAgent, { wish, within }: Wished, service: ServiceContext) {
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

/** Kinds that move value. */
export const wishKinds = ['purchase', 'paywall', 'transfer', 'cart'] as const satisfies WishKind[]

/** A request whose fields are not checked yet. */
export type SentWish = { readonly kind: WishKind } & Readonly<Record<string, unknown>>

/** Checks that a request has the fields of its kind. Throws `field_invalid`. */
export function wishOf({ kind, ...fields }: SentWish): ApprovalWish {
  for (const [name, { def }] of Object.entries(wishFields[kind].shape))
    if (def.type !== 'optional' && fields[name] === undefined)
      throw fieldRefused(name, `is missing: a ${kind} needs it`)
  return { kind, ...wishFields[kind].parse(fields) } as ApprovalWish // Of the fields of this kind.
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

/** How many offers may be pending for a connection. Its requests do not count, so that refusals never block them. */
const MAX_OFFERS = 10

/**
 * Returns the approval that a refusal offers for a call: the one that an earlier refusal of the same call offered, even
 * if the user has just rejected it, or a new one. Returns undefined if the user has too many to read already. Throws
 * `field_invalid`.
 */
async function offeredApproval(tx: Writer, agent: Agent, terms: ApprovalTerms, service: ServiceContext) {
  const offers = await offersTo(tx, agent, service.clock.now())
  const binding = bindingOf(agent, terms)
  const same = offers.find((row) => row.binding === binding)
  if (same) return { row: same, isRepeated: true }
  if (offers.filter(({ status }) => status === 'pending').length >= MAX_OFFERS) return undefined
  return { row: await createPendingApproval(tx, agent, terms, { ...service, isOffer: true }), isRepeated: false }
}

/** Makes an offer for exactly these terms a request of the agent's own, so that the user is asked once. Undefined if there is none. */
async function takeOffer(tx: Writer, agent: Agent, terms: ApprovalTerms, at: number): Promise<ApprovalRow | undefined> {
  const binding = bindingOf(agent, terms)
  const offer = (await offersTo(tx, agent, at)).find((row) => row.binding === binding)
  // After a rejection, the agent may ask again in its own words.
  if (!offer || offer.status === 'rejected') return undefined
  const { is_offer, ...taken } = offer
  tx.put(approvals, taken)
  return taken
}

/** Offers that the user can still answer or has rejected in that time, and those that the agent can still spend. */
async function offersTo(tx: Reader, { connection_id }: Agent, at: number): Promise<ApprovalRow[]> {
  const offers: ApprovalRow[] = []
  for (const status of ['pending', 'approved', 'rejected'] as const)
    for await (const row of allRows(tx, approvals, { index: 'byConnection', prefix: [connection_id, status] }))
      if (row.is_offer && row.expires_at > at && approvalStatus(row, at) === status) offers.push(row)
  return offers
}

const REJECTED = { detail: 'The user rejected it. To ask again, request an approval.' }

/**
 * Offers an approval for a call that was refused with `approval_required`: the refusal then has the `approval_id`, and
 * the `url` where the user approves. It becomes `approval_not_given` if the user has just rejected it, and stays as it is
 * if no approval can be offered.
 * `within`: the account whose own server the agent calls.
 */
export async function withOffer(refusal: Problem, agent: CallingAgent, service: ServiceContext, within?: number) {
  const { approval: wish } = refusal.fields
  if (refusal.code !== 'approval_required' || !isObject(wish)) return { refusal, approval: undefined }
  const approval = await offered(wish as SentWish, agent, service, within)
  if (!approval) return { refusal, approval }
  const { approval_id, url, status } = approval
  if (status === 'rejected') return { refusal: rejectedOffer(approval_id), approval }
  const fields = { ...refusal.fields, approval_id, url }
  const detail = `They can do so at ${url}. Then repeat this call with "approval_id": "${approval_id}".`
  return { refusal: problem('approval_required', { detail, fields, cause: refusal }), approval }
}

const rejectedOffer = (approval_id: string) =>
  problem('approval_not_given', { ...REJECTED, fields: { approval_id, approval_status: 'rejected' } })

/** A call that cannot name an approval, such as a signed transfer, and what the agent's user would approve. */
interface OfferedTerms {
  readonly agent: Agent
  readonly terms: ApprovalTerms
}

/** Like `withOffer`, for a call that cannot name an approval: repeating it spends the offer. Throws `token_invalid`. */
export async function completeOffer(
  tx: Writer,
  refusal: Problem,
  { agent, terms }: OfferedTerms,
  service: ServiceContext,
): Promise<Problem> {
  const caller = { ...agent, ...(await currentGrant(tx, agent)) }
  const offer = await offeredApproval(tx, caller, terms, service)
  if (!offer) return refusal
  const { approval_id, url, status } = showApproval(offer.row, service)
  if (status === 'rejected') return rejectedOffer(approval_id)
  const detail = `They can do so at ${url}. Then repeat this call.`
  return problem('approval_required', { detail, fields: { approval_id, url }, cause: refusal })
}

/** The offer for these terms that the agent's user has approved, for a call that cannot name it. */
export async function approvedOffer(tx: Reader, agent: Agent, terms: ApprovalTerms, at: number) {
  const binding = bindingOf({ ...agent, ...(await currentGrant(tx, agent)) }, terms)
  return (await offersTo(tx, agent, at)).find((row) => row.status === 'approved' && row.binding === binding)?.id
}

async function offered(wish: SentWish, agent: CallingAgent, service: ServiceContext, within: number | undefined) {
  try {
    return await service.storage.write((tx) => offerApproval(tx, agent, wishOf(wish), service, within))
  } catch (error) {
    // The call is refused in any case.
    if (error instanceof Problem) return undefined
    throw error
  }
}

/** Adds to the refusal of a call whose approval is still pending where the user approves. */
export function withUrl(refusal: Problem, service: Pick<ServiceContext, 'baseUrl'>): Problem {
  const { approval_id: id, approval_status: status } = refusal.fields
  if (refusal.code !== 'approval_not_given' || id === undefined || status !== 'pending') return refusal
  const url = approvalUrl(id, service)
  const detail = `The user has not answered yet. They can do so at ${url}. Then retry.`
  return problem('approval_not_given', { detail, fields: { ...refusal.fields, url }, cause: refusal })
}

export const completeRefusal = async (refusal: Problem, agent: CallingAgent, service: ServiceContext) =>
  (await withOffer(withUrl(refusal, service), agent, service)).refusal
