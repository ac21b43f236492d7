/** What Stripe keeps, in the shapes that it answers with, and what it refuses; the wire is stripe-fake.ts. */

export interface StripeFailure {
  status: number
  error: Record<string, unknown>
}

export type Params = Record<string, string>

type Card = { brand: string; last4: string; exp_month: number; exp_year: number }
interface Method {
  id: string
  object: 'payment_method'
  type: 'card'
  card: Card
  customer: string | null
}
type Intent = Record<string, any> & { id: string; status: string }

/** What Stripe's payment methods for tests do: declined when they are charged, and when they are saved. */
const TEST_METHODS: Record<string, { card?: Partial<Card>; charge?: string; save?: string }> = {
  pm_card_visa: {},
  pm_card_mastercard: { card: { brand: 'mastercard', last4: '4444' } },
  pm_card_chargeDeclined: { charge: 'generic_decline', save: 'generic_decline' },
  pm_card_chargeDeclinedInsufficientFunds: { charge: 'insufficient_funds', save: 'insufficient_funds' },
  pm_card_chargeDeclinedExpiredCard: { charge: 'expired_card', save: 'expired_card' },
  pm_card_chargeDeclinedStolenCard: { charge: 'stolen_card', save: 'stolen_card' },
  pm_card_chargeCustomerFail: { charge: 'generic_decline' },
  pm_card_authenticationRequired: { charge: 'authentication_required', save: 'requires_action' },
}

export const refuse = (message: string, { status = 400, ...error }: Record<string, unknown> = {}): never => {
  const failure: StripeFailure = {
    status: status as number,
    error: { message, type: 'invalid_request_error', ...error },
  }
  throw failure
}

export function stripeObjects(now: () => number) {
  let counted = 0
  const newId = (prefix: string) => `${prefix}_3Fake${String(++counted).padStart(6, '0')}`
  const created = () => Math.floor(now() / 1000)
  const methods = new Map<string, Method & { does: { charge?: string; save?: string }; used: boolean }>()
  const intents = new Map<string, Intent>()
  const charges = new Map<string, Record<string, any>>()
  const refunds: Record<string, any>[] = []
  const customers = new Set<string>()

  function methodNamed(name = '') {
    const does = TEST_METHODS[name]
    if (!does) {
      const message = `No such PaymentMethod: '${name}'`
      return methods.get(name) ?? refuse(message, { code: 'resource_missing', param: 'payment_method' })
    }
    const id = newId('pm')
    const card = { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2050, ...does.card }
    const made = { id, object: 'payment_method', type: 'card', card, customer: null, does, used: false } as const
    methods.set(id, { ...made })
    return methods.get(id) as NonNullable<ReturnType<typeof methods.get>>
  }

  const intentNamed = (id: string): Intent =>
    intents.get(id) ?? refuse(`No such payment_intent: '${id}'`, { status: 404, code: 'resource_missing' })

  function inState(intent: Intent, states: string[], what: string): void {
    if (states.includes(intent.status)) return
    const message = `This PaymentIntent's payment could not be ${what} because it has a status of ${intent.status}.`
    refuse(message, { code: 'payment_intent_unexpected_state', payment_intent: intent })
  }

  function decline(reason: string, fields: object): never {
    const code = ['expired_card', 'authentication_required'].includes(reason) ? reason : 'card_declined'
    const error = { type: 'card_error', code, decline_code: reason, ...fields }
    return refuse('Your card was declined.', { status: 402, ...error })
  }

  return {
    charges,
    refunds,
    intents,

    searchIntents({ query = '' }: Params, visibleAfterMs: number) {
      const [, key = '', value = ''] =
        /^metadata\["(\w+)"\]:"(.*)"$/.exec(query) ?? refuse('We were unable to parse it.')
      const sought = value.replace(/\\(.)/g, '$1').toLowerCase()
      const data = [...intents.values()].filter(
        (each) => each.metadata[key]?.toLowerCase() === sought && each.created * 1000 + visibleAfterMs <= now(),
      )
      return { object: 'search_result', url: '/v1/payment_intents/search', has_more: false, data, next_page: null }
    },

    retrieveIntent: (id: string) => intentNamed(id),

    createIntent(params: Params) {
      if (Number(params.amount) < 50) refuse('Amount must be at least $0.50 usd', { code: 'amount_too_small' })
      if (!/^(usd|eur|jpy|kwd)$/.test(params.currency ?? '')) refuse(`Invalid currency: ${params.currency}`)
      const method = methodNamed(params.payment_method)
      const id = newId('pi')
      const intent: Intent = {
        ...{ id, object: 'payment_intent', created: created(), livemode: false, capture_method: 'automatic_async' },
        ...{
          amount: Number(params.amount),
          amount_received: 0,
          currency: params.currency,
          description: params.description,
        },
        ...{ status: 'requires_confirmation', payment_method: method.id, payment_method_types: ['card'] },
        ...{
          customer: params.customer ?? null,
          latest_charge: null,
          last_payment_error: null,
          cancellation_reason: null,
        },
        ...{ client_secret: `${id}_secret_hidden`, metadata: { farthing_charge: params['metadata[farthing_charge]'] } },
      }
      intents.set(id, intent)
      return intent
    },

    confirmIntent(id: string) {
      const intent = intentNamed(id)
      inState(intent, ['requires_confirmation', 'requires_payment_method'], 'confirmed')
      const method = methodNamed(intent.payment_method)
      if (method.customer !== intent.customer)
        refuse(
          'The payment method you provided is attached to a customer so for security purposes you must provide the customer.',
        )
      if (method.used && method.customer === null)
        refuse('The provided PaymentMethod was previously used with a PaymentIntent without Customer attachment.')
      method.used = true
      const charge = {
        ...{ id: newId('ch'), object: 'charge', amount: intent.amount, currency: intent.currency, payment_intent: id },
        ...{ status: method.does.charge ? 'failed' : 'succeeded', paid: !method.does.charge, refunded: false },
        ...{ description: intent.description, payment_method_details: { type: 'card', card: method.card } },
      }
      charges.set(charge.id, charge)
      intent.latest_charge = charge
      if (method.does.charge) {
        const decline_code = method.does.charge
        const code = decline_code === 'expired_card' ? decline_code : 'card_declined'
        intent.last_payment_error = {
          type: 'card_error',
          code,
          decline_code,
          charge: charge.id,
          payment_method: method,
        }
        Object.assign(intent, { status: 'requires_payment_method', payment_method: null })
        decline(decline_code, { charge: charge.id, payment_intent: intent, payment_method: method })
      }
      return Object.assign(intent, { status: 'succeeded', amount_received: intent.amount })
    },

    cancelIntent(id: string, { cancellation_reason = null }: Partial<Record<string, string | null>>) {
      const intent = intentNamed(id)
      inState(intent, ['requires_confirmation', 'requires_payment_method', 'requires_action'], 'cancelled')
      return Object.assign(intent, { status: 'canceled', cancellation_reason, canceled_at: created() })
    },

    createCustomer() {
      const id = newId('cus')
      customers.add(id)
      return { id, object: 'customer', created: created(), livemode: false }
    },

    createSetupIntent(params: Params) {
      const method = methodNamed(params.payment_method)
      const intent = { id: newId('seti'), object: 'setup_intent', customer: params.customer, usage: params.usage }
      const { save } = method.does
      if (save === 'requires_action') return { ...intent, status: save, payment_method: method, next_action: {} }
      if (save) decline(save, { setup_intent: { ...intent, status: 'requires_payment_method', payment_method: null } })
      if (method.customer !== null || method.used) refuse('The PaymentMethod you provided is not to be used here.')
      if (!customers.has(params.customer ?? ''))
        refuse('No such customer', { code: 'resource_missing', param: 'customer' })
      method.customer = params.customer as string
      return { ...intent, status: 'succeeded', payment_method: method }
    },

    listRefunds: ({ charge }: Params) => ({
      ...{ object: 'list', url: '/v1/refunds', has_more: false },
      data: refunds.filter((each) => each.charge === charge).reverse(),
    }),

    createRefund(params: Params) {
      const charge = charges.get(params.charge ?? '')
      if (!charge) return refuse(`No such charge: '${params.charge}'`, { code: 'resource_missing', param: 'charge' })
      const given = refunds.filter((each) => each.charge === charge.id).reduce((sum, { amount }) => sum + amount, 0)
      if (given === charge.amount)
        refuse(`Charge ${charge.id} has already been refunded.`, { code: 'charge_already_refunded' })
      if (charge.disputed) refuse(`Charge ${charge.id} has been charged back.`, { code: 'charge_disputed' })
      if (given + Number(params.amount) > charge.amount)
        refuse('Refund amount is greater than unrefunded amount on charge.')
      const refund = {
        ...{ id: newId('re'), object: 'refund', amount: Number(params.amount), charge: charge.id, status: 'succeeded' },
        ...{
          created: created(),
          currency: charge.currency,
          metadata: { farthing_refund: params['metadata[farthing_refund]'] },
        },
      }
      refunds.push(refund)
      return refund
    },
  }
}
