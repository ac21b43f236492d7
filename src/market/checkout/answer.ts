import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type { SeenPrice } from '../../money/commodities/seen-price.js'
import { checkoutByToken } from './checkout.js'
import { type Completion, completeCheckout } from './complete.js'
import { askCode, type StepName, signInByCode, type Visit } from './visit.js'

/** The buttons: `continue` mails a code, `verify` takes it, `pay` pays from the wallet and `card` by card; `cancel` leaves. */
export const answers = ['continue', 'verify', 'pay', 'card', 'cancel'] as const

export interface Filled {
  readonly answer: (typeof answers)[number]
  readonly email?: string | undefined
  readonly code?: string | undefined
  readonly paymentMethodId?: string | undefined
  /** The quote that the page showed. */
  readonly seen?: SeenPrice | undefined
}

/** Where an answer leads, and the session that goes on. */
export interface Taken {
  readonly location: string
  readonly session?: string
}

/** Takes an answer. Gives why it was not taken; throws `not_found`. */
export async function answer(
  { filled, payer, hops, ...at }: Visit & { readonly filled: Filled } & Pick<Completion, 'payer' | 'hops'>,
  service: ServiceContext,
): Promise<Taken | Problem> {
  const { storage } = service
  const order = { token: at.token, payer, hops, seen: filled.seen }
  const next = (step?: StepName): Taken => ({ location: addressOf(at.token, service, step) })
  switch (filled.answer) {
    case 'continue': {
      const mailed = await storage.write((tx) => askCode(tx, { ...at, email: filled.email ?? '' }, service))
      return mailed instanceof Problem ? mailed : next('code')
    }
    case 'verify': {
      const verified = await storage.write((tx) => signInByCode(tx, { ...at, code: filled.code ?? '' }, service))
      if (verified instanceof Problem) return verified
      return verified === 'waits' ? next('device') : { ...next(), ...verified }
    }
    case 'pay':
      return tried(async () => {
        await completeCheckout({ ...order, way: { by: 'wallet', hostname: undefined } }, service)
        return next()
      })
    case 'card': {
      const { paymentMethodId } = filled
      if (paymentMethodId === undefined) return refusedField('payment_method_id', 'is missing')
      return tried(async () => {
        await completeCheckout({ ...order, way: { by: 'card', paymentMethodId } }, service)
        return next()
      })
    }
    case 'cancel': {
      const { cancel_url } = await storage.read((tx) => checkoutByToken(tx, at.token))
      return cancel_url === null ? next() : { location: cancel_url }
    }
  }
}

/** The next page has an address of its own, so that it can be asked for again. */
export const addressOf = (token: string, { baseUrl }: Pick<ServiceContext, 'baseUrl'>, step?: StepName): string =>
  `${baseUrl}/checkout/${encodeURIComponent(token)}${step === undefined ? '' : `?step=${step}`}`

const refusedField = (field: string, what: string): Problem =>
  problem('field_invalid', { detail: `"${field}" ${what}.`, fields: { field } })

async function tried(pay: () => Promise<Taken>): Promise<Taken | Problem> {
  try {
    return await pay()
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}
