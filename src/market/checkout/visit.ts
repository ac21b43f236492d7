import type { TestPaymentMethod } from '../../base/ports.js'
import { Problem, problem } from '../../base/problem.js'
import {
  mailCode,
  type SignedInSince,
  type SignInStep,
  signedInSince,
  signInStep,
  type Verified,
  verifyCode,
} from '../../consent/sign-in/page-sign-in.js'
import type { ServiceContext } from '../../http/context.js'
import { findSession, type SessionRow } from '../../identity/sessions/session.js'
import { users } from '../../identity/users/user.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount } from '../../money/ledger/amount.js'
import { balanceOf, spendable } from '../../money/ledger/balance.js'
import { primaryTwin } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/existing.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type ShownReceipt, showReceipt } from '../purchases/receipt.js'
import { isChargeable } from './card.js'
import { chargedFor } from './charge.js'
import { type CheckoutRow, checkoutByToken, type Payer, payerOfSession, receiptIdOf, statusOf } from './checkout.js'
import { quoteOf } from './complete.js'

/** What is to be paid, as people are told. */
export interface Offer {
  readonly name: string
  readonly description: string
  readonly seller: string
  /** With the shortcode of the digital quantity. */
  readonly price: string
  /** The same, as the page's form sends it. */
  readonly quote: { readonly price: number; readonly dq: string }
  /** What stands on receipts. */
  readonly descriptor: string
  /** Names and values. */
  readonly arguments: readonly (readonly [string, string])[]
  readonly canCancel: boolean
  /** Whether a card can be charged that much. */
  readonly byCard: boolean
  readonly sandbox: boolean
  /** Test cards to pick from on the page: none where it is not a sandbox, or its card processor has none. */
  readonly testMethods: readonly TestPaymentMethod[]
}

/** How it can be paid, and where whoever looks is on that way. */
export type Way =
  | SignInStep
  | { readonly step: 'wallet'; readonly email: string; readonly balance: string; readonly isEnough: boolean }
  /** `charged`: what the payer's card was charged before pays; no card is asked for. */
  | { readonly step: 'card'; readonly methods: readonly TestPaymentMethod[]; readonly charged: boolean }

export type Shown =
  | { readonly step: 'offer'; readonly offer: Offer; readonly way: Way }
  /** It can no longer be had by this link. */
  | { readonly step: 'over'; readonly name: string; readonly why: Problem; readonly canCancel: boolean }
  /** `unknown`: a card may have been charged; else somebody pays at this moment. */
  | { readonly step: 'paying'; readonly name: string; readonly unknown: boolean }
  | {
      readonly step: 'paid'
      readonly receipt: ShownReceipt
      readonly amount: string
      readonly successUrl: string | null
    }

export const steps = ['email', 'code', 'device', 'wallet', 'card'] as const
export type StepName = (typeof steps)[number]

export interface Visit {
  /** Of the link. */
  readonly token: string
  readonly sessionId: string
  /** Where the page's own links lead; undefined at first. */
  readonly step?: StepName | undefined
  /** That was filled in, and not taken. */
  readonly email?: string | undefined
}

type Context = Pick<ServiceContext, 'clock' | 'sandbox' | 'keys' | 'cards'>

/** Throws `not_found`, `checkout_expired`; `checkout_paid` where another paid. */
export async function visit(tx: Reader, { token, ...looking }: Visit, context: Context): Promise<Shown> {
  const at = context.clock.now()
  const { sessionId } = looking
  const checkout = await checkoutByToken(tx, token)
  const session = await findSession(tx, sessionId, at)
  const payer = payerOfSession(sessionId, session?.user_id ?? null)
  const { name } = checkout
  switch (statusOf(checkout, at)) {
    case 'expired':
      throw problem('checkout_expired')
    case 'paid':
      return paid(tx, checkout, payer, context)
    case 'paying':
      return { step: 'paying', name, unknown: checkout.attempt === null }
    case 'unpaid':
      return unpaid(tx, { ...looking, checkout, session, payer }, context)
  }
}

async function paid(tx: Reader, checkout: CheckoutRow, payer: Payer, { keys }: Context): Promise<Shown> {
  if (checkout.payer !== payer) throw problem('checkout_paid')
  const receipt = await showReceipt(tx, receiptIdOf(checkout), { keys, for: 'buyer' })
  return { step: 'paid', receipt, amount: await priceOf(tx, checkout), successUrl: checkout.success_url }
}

const priceOf = async (tx: Reader, { dq, price }: Pick<CheckoutRow, 'dq' | 'price'>): Promise<string> => {
  const { decimals, shortcode } = await quantityOf(tx, dq)
  return `${formatAmount(price, decimals)} ${shortcode}`
}

interface Looking extends Omit<Visit, 'token'> {
  readonly checkout: CheckoutRow
  readonly session: SessionRow | undefined
  readonly payer: Payer
}

async function unpaid(tx: Reader, looking: Looking, context: Context): Promise<Shown> {
  const { checkout } = looking
  const canCancel = checkout.cancel_url !== null
  const quote = await quoteOf(tx, checkout)
  if (quote instanceof Problem) return { step: 'over', name: checkout.name, why: quote, canCancel }
  const offer: Offer = {
    name: quote.item.name,
    description: quote.item.description,
    seller: quote.seller,
    price: await priceOf(tx, checkout),
    quote: { price: quote.price, dq: quote.quantity.id },
    descriptor: quote.commodity.descriptor,
    arguments: Object.entries(checkout.arguments).map(([name, value]) => [name, textOf(value)]),
    canCancel,
    byCard: isChargeable(quote.amount, quote.quantity),
    sandbox: context.sandbox !== undefined,
    testMethods: (context.sandbox && context.cards?.testMethods) ?? [],
  }
  return { step: 'offer', offer, way: await wayOf(tx, { ...looking, offer }, context) }
}

/** Longer ones are cut off. */
const MOST_CHARACTERS = 500

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text
}

async function wayOf(tx: Reader, looking: Looking & { readonly offer: Offer }, { clock }: Context): Promise<Way> {
  const { checkout, session, payer, sessionId, step, email, offer } = looking
  const charged = (await chargedFor(tx, checkout, payer)) !== undefined
  const { testMethods: methods, byCard } = offer
  const takesCard = charged || (byCard && methods.length > 0)
  if (takesCard && (step === 'card' || (step === undefined && charged))) return { step: 'card', methods, charged }
  const asked = await signInStep(tx, { sessionId, step, email: email ?? checkout.email ?? undefined }, clock.now())
  if (asked.step === 'code' || asked.step === 'device' || !session || step === 'email') return asked
  const user = await getExisting(tx, users, session.user_id)
  const twin = await primaryTwin(tx, `user:${session.user_id}`)
  const balance = twin ? spendable(await balanceOf(tx, twin.id, checkout.dq)) : 0n
  const shown = await priceOf(tx, { dq: checkout.dq, price: String(balance) })
  return { step: 'wallet', email: user.email, balance: shown, isEnough: balance >= BigInt(checkout.price) }
}

/** Mails a code, in the session that asks. Gives why not: `field_invalid`, `too_many_codes`. Throws `not_found`. */
export async function askCode(
  tx: Writer,
  { token, ...filled }: Visit & { readonly email: string },
  service: ServiceContext,
): Promise<string | Problem> {
  await checkoutByToken(tx, token)
  return mailCode(tx, filled, service)
}

/** Whether the device of whoever signs in has approved that since. Gives why not. */
export const signedInBy = (
  tx: Writer,
  at: Visit,
  service: ServiceContext,
): Promise<SignedInSince | Problem | undefined> => signedInSince(tx, at, service)

/** Signs in by the code that was mailed last. Gives the session that goes on, or why not. Throws `not_found`. */
export async function signInByCode(
  tx: Writer,
  { token, sessionId, code }: Visit & { readonly code: string },
  service: ServiceContext,
): Promise<Verified | Problem> {
  await checkoutByToken(tx, token)
  return verifyCode(tx, { sessionId, code }, service)
}
