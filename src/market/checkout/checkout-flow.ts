import { Problem, problem } from '../../base/problem.js'
import { type FilledSignIn, resumePageSignIn, signInAnswers } from '../../consent/sign-in/sign-in-flow.js'
import type { ServiceContext } from '../../http/context.js'
import { formFlow, Next } from '../../http/pages/form-flow.js'
import type { PriceQuote } from '../../money/commodities/price-quote.js'
import type { Writer } from '../../storage/storage.js'
import { checkoutByToken } from './checkout.js'
import { checkoutPages, checkoutSentence, checkoutTitle } from './checkout-page.js'
import { payerOfSession } from './checkout-row.js'
import { completeCheckout, type PaymentMethod } from './complete.js'
import { type CheckoutVisit, checkoutStep } from './visit.js'

/** A form, with the quote that the page showed. */
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
  try {
    await completeCheckout(order, service)
    return new Next()
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

const missingCard = (): Problem =>
  problem('field_invalid', { detail: '"payment_method_id" is missing.', fields: { field: 'payment_method_id' } })

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
        return paymentMethodId === undefined
          ? missingCard()
          : pay(visit, filled, { by: 'card', paymentMethodId }, service)
      },
    },
    async cancel(tx: Writer, { token }: CheckoutVisit) {
      const { cancel_url } = await checkoutByToken(tx, token)
      return new Next(cancel_url === null ? {} : { location: cancel_url })
    },
  },
})
