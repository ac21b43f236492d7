import type { TestPaymentMethod } from '../../base/ports.js'
import { Problem, problem, problemOr } from '../../base/problem.js'
import {
  type FilledSignIn,
  resumePageSignIn,
  type SignInStep,
  signInAnswers,
  signInStep,
} from '../../consent/sign-in/sign-in-flow.js'
import type { ServiceContext } from '../../http/context.js'
import { formFlow, Next, type Visit } from '../../http/pages/form-flow.js'
import { findSession, type SessionRow } from '../../identity/sessions/session.js'
import { users } from '../../identity/users/user.js'
import { isChargeable, isWithinCardMost } from '../../money/cards/charge.js'
import type { PriceQuote } from '../../money/commodities/commodity.js'
import { amountText } from '../../money/digital-quantities/digital-quantity.js'
import { balanceOf, spendable } from '../../money/ledger/movement.js'
import { primaryTwin } from '../../money/twins/twin.js'
import { getExisting } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { Quote } from '../purchases/purchase.js'
import { type ShownReceipt, showReceipt } from '../purchases/receipt.js'
import { checkoutByToken, checkoutStatus, receiptIdOf } from './checkout.js'
import { checkoutPages, checkoutSentence, checkoutTitle } from './checkout-page.js'
import { type CheckoutRow, chargedFor, type Payer, payerOfSession } from './checkout-row.js'
import { completeCheckout, type PaymentMethod, quoteOf } from './complete.js'

export type Offer = Awaited<ReturnType<typeof offerOf>>

export type PaymentStep =
  | SignInStep
  | { readonly step: 'wallet'; readonly email: string; readonly balance: string; readonly isEnough: boolean }
  /** `charged`: an earlier charge of the payer's card pays, so the page does not ask for a card. */
  | { readonly step: 'card'; readonly methods: readonly TestPaymentMethod[]; readonly charged: boolean }

export type CheckoutStep =
  | { readonly step: 'offer'; readonly offer: Offer; readonly payment: PaymentStep }
  /** The link can no longer be paid. */
  | { readonly step: 'over'; readonly name: string; readonly why: Problem; readonly canCancel: boolean }
  /** `unknown`: the outcome of a charge is unknown. Otherwise someone is paying right now. */
  | { readonly step: 'paying'; readonly name: string; readonly unknown: boolean }
  | {
      readonly step: 'paid'
      readonly receipt: ShownReceipt
      readonly amount: string
      readonly successUrl: string | null
    }

export type CheckoutVisit = Visit<{ readonly token: string }>

type Context = Pick<ServiceContext, 'clock' | 'sandbox' | 'keys' | 'cards' | 'limits'>

/** Returns the current step of a checkout page. Throws `checkout_paid` if someone else paid. */
export async function checkoutStep(tx: Reader, visit: CheckoutVisit, context: Context): Promise<CheckoutStep | Next> {
  const at = context.clock.now()
  const { token, sessionId, refused } = visit
  const checkout = await checkoutByToken(tx, token)
  const session = await findSession(tx, sessionId, at)
  const payer = payerOfSession(sessionId, session?.user_id ?? null)
  const { name } = checkout
  switch (checkoutStatus(checkout, at)) {
    case 'expired':
      throw problem('checkout_expired')
    case 'paid': {
      const step = await paid(tx, checkout, payer, context)
      // A concurrent request of the same payer was faster.
      return refused ? new Next() : step
    }
    case 'paying':
      return { step: 'paying', name, unknown: checkout.attempt === null }
    case 'unpaid':
      return unpaid(tx, { visit, checkout, session, payer }, context)
  }
}

async function paid(tx: Reader, checkout: CheckoutRow, payer: Payer, { keys }: Context): Promise<CheckoutStep> {
  if (checkout.payer !== payer) throw problem('checkout_paid')
  const receipt = await showReceipt(tx, receiptIdOf(checkout), { keys, for: 'buyer' })
  const amount = await amountText(tx, { dq: checkout.dq, amount: checkout.price })
  return { step: 'paid', receipt, amount, successUrl: checkout.success_url }
}

interface CheckoutState {
  readonly visit: CheckoutVisit
  readonly checkout: CheckoutRow
  readonly session: SessionRow | undefined
  readonly payer: Payer
}

async function unpaid(tx: Reader, state: CheckoutState, context: Context): Promise<CheckoutStep> {
  const { checkout } = state
  const quote = await quoteOf(tx, checkout)
  if (quote instanceof Problem)
    return { step: 'over', name: checkout.name, why: quote, canCancel: checkout.cancel_url !== null }
  const offer = await offerOf(tx, checkout, quote, context)
  return { step: 'offer', offer, payment: await paymentStep(tx, { ...state, offer }, context) }
}

/** `quote`: the price as the page's form sends it. `testMethods`: test cards on the page, none outside of a sandbox. */
const offerOf = async (
  tx: Reader,
  { dq, price, arguments: args, cancel_url }: CheckoutRow,
  { item, seller, commodity, quantity, amount, price: shown }: Quote,
  { sandbox, cards, limits }: Context,
) => ({
  name: item.name,
  description: item.description,
  seller,
  price: await amountText(tx, { dq, amount: price }),
  quote: { price: shown, dq: quantity.id },
  descriptor: commodity.descriptor,
  arguments: Object.entries(args).map(([name, value]) => [name, receiptText(value)] as const),
  canCancel: cancel_url !== null,
  byCard: isChargeable(amount, quantity) && isWithinCardMost(amount, quantity, limits),
  sandbox: sandbox !== undefined,
  testMethods: (sandbox && cards?.testMethods) ?? [],
})

const MAX_CHARACTERS = 500

function receiptText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
}

const steps = ['email', 'code', 'device', 'wallet', 'card'] as const

async function paymentStep(
  tx: Reader,
  state: CheckoutState & { readonly offer: Offer },
  { clock }: Context,
): Promise<PaymentStep> {
  const { checkout, session, payer, offer, visit } = state
  const step = steps.find((each) => each === visit.step)
  const charged = (await chargedFor(tx, checkout, payer)) !== undefined
  const { testMethods: methods, byCard } = offer
  const takesCard = charged || (byCard && methods.length > 0)
  if (takesCard && (step === 'card' || (step === undefined && charged))) return { step: 'card', methods, charged }
  const asked = await signInStep(tx, { ...visit, email: visit.email ?? checkout.email ?? undefined }, clock.now())
  if (asked.step === 'code' || asked.step === 'device' || !session || step === 'email') return asked
  const user = await getExisting(tx, users, session.user_id)
  const twin = await primaryTwin(tx, `user:${session.user_id}`)
  const balance = twin ? spendable(await balanceOf(tx, twin.id, checkout.dq)) : 0n
  const shown = await amountText(tx, { dq: checkout.dq, amount: balance })
  return { step: 'wallet', email: user.email, balance: shown, isEnough: balance >= BigInt(checkout.price) }
}

interface FilledCheckout extends FilledSignIn, PriceQuote {
  readonly payment_method_id?: string | undefined
}

async function pay(
  { token, sessionId, userId, hops, source }: CheckoutVisit,
  { price, dq }: FilledCheckout,
  method: PaymentMethod,
  service: ServiceContext,
): Promise<Next | Problem> {
  const order = { token, payer: payerOfSession(sessionId, userId), hops, source, seen: { price, dq }, method }
  const paid = await problemOr(completeCheckout(order, service))
  return paid instanceof Problem ? paid : new Next()
}

export const checkoutFlow = formFlow({
  path: '/checkout/:token',
  check: (tx: Writer, { token }: CheckoutVisit) => checkoutByToken(tx, token),
  signedIn: resumePageSignIn,
  look: checkoutStep,
  pages: checkoutPages,
  sentence: checkoutSentence,
  refusedTitle: checkoutTitle,
  // The page stays at its address.
  refusedAt: (_, { step }) => step,
  answers: {
    continue: signInAnswers.continue,
    verify: signInAnswers.verify,
    pay: {
      handle: (visit: CheckoutVisit, filled: FilledCheckout, service: ServiceContext) =>
        pay(visit, filled, { by: 'wallet', hostname: undefined }, service),
    },
    card: {
      async handle(visit: CheckoutVisit, filled: FilledCheckout, service: ServiceContext) {
        const { payment_method_id: paymentMethodId } = filled
        if (paymentMethodId !== undefined) return pay(visit, filled, { by: 'card', paymentMethodId }, service)
        const field = 'payment_method_id'
        return problem('field_invalid', { detail: `"${field}" is missing.`, fields: { field } })
      },
    },
    async cancel(tx: Writer, { token }: CheckoutVisit) {
      const { cancel_url } = await checkoutByToken(tx, token)
      return new Next(cancel_url === null ? {} : { location: cancel_url })
    },
  },
})
