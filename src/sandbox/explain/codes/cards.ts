import { rates } from '../../../jobs/rates/rate.js'
import { type InvoiceRow, invoices } from '../../../market/billing/invoice-row.js'
import { plans } from '../../../market/plans/plan.js'
import { subscriptionOf } from '../../../market/plans/subscription.js'
import { testMethods } from '../../../money/cards/test-values.js'
import { reservations } from '../../../money/ledger/reservation.js'
import type { Explainers } from '../facts/explainer.js'
import { priceOf } from '../facts/price.js'
import {
  askedWait,
  callerId,
  corrected,
  first,
  later,
  type RefusedRequest,
  responseText,
  saidNumber,
  sentText,
} from '../facts/refused-request.js'
import { money, named, plural, timeText } from '../facts/words.js'

/** Cards, plans and invoices. */
export const cardExplainers = {
  async card_declined(asked) {
    const method = sentText(asked, 'payment_method_id') ?? (await cardOnFile(asked))
    const known = testMethods.find(({ value }) => value === method)
    return {
      sentences: [
        `${named('card', method)} was declined: ${responseText(asked, 'reason') ?? known?.reason ?? 'no reason'}.`,
        ...(known ? [`This test value does the following: ${known.does}`] : []),
        '`pm_card_visa` works.',
      ],
      facts: {
        payment_method_id: method ?? null,
        reason: responseText(asked, 'reason') ?? null,
        test_value: known?.does ?? null,
        payment: saidNumber(asked, 'payment_id') ?? null,
        invoice: saidNumber(asked, 'invoice_id') ?? null,
      },
      fix: corrected(asked, { body: { payment_method_id: 'pm_card_visa' } }),
    }
  },

  async processor_failed(asked) {
    const method = sentText(asked, 'payment_method_id')
    const outcome = responseText(asked, 'outcome')
    const isThere = asked.service.cards !== undefined
    return {
      sentences: [
        isThere
          ? `The card processor gave no usable answer for ${method ?? 'the card on file'}.`
          : 'The service has no card processor. Create it with `cards`, or with `sandbox: true`.',
        outcome === 'unknown'
          ? 'The card may still be charged. The service asks again by itself, so do not send another card.'
          : 'Nothing was charged.',
        ...(method === 'pm_processor_down' ? ['`pm_processor_down` always fails. `pm_card_visa` works.'] : []),
      ],
      facts: {
        payment_method_id: method ?? null,
        outcome: outcome ?? null,
        processor: isThere,
        payment: saidNumber(asked, 'payment_id') ?? null,
        invoice: saidNumber(asked, 'invoice_id') ?? null,
      },
      fix: outcome === 'unknown' ? later(asked, 60) : corrected(asked, { body: { payment_method_id: 'pm_card_visa' } }),
    }
  },

  async too_many_declines(asked) {
    const wait = askedWait(asked, 900)
    const rows = await asked.tx.find(rates, { index: 'byEnd', prefix: [], limit: 100, reverse: true })
    const declined = Math.max(
      ...rows.filter(({ id }) => id.startsWith('card_declines:')).map(({ times }) => times.length),
      0,
    )
    return {
      sentences: [
        `${plural(declined, 'card')} were declined within 15 minutes for ${asked.entry.principal ?? 'this link'}. At most 10 may be, or 100 for the guests of one seller. This card was not tried.`,
        `The next card is possible after ${wait} seconds.`,
      ],
      facts: {
        principal: asked.entry.principal,
        payment_method_id: sentText(asked, 'payment_method_id') ?? null,
        declined,
        retry_after: wait,
      },
      fix: later(asked, wait),
    }
  },

  async too_many_charges(asked) {
    const wait = askedWait(asked, 5)
    const open = await asked.tx.find(reservations, { index: 'id', prefix: [], limit: 1000 })
    const who = asked.entry.principal
    const own = open.filter(({ maker }) => maker === who).length
    return {
      sentences: [
        `${plural(open.length, 'charge')} have no outcome yet, ${own} of them of ${who ?? 'this link'}. At most 20 of one user, account or link may be open, or 200 of the guests of one seller. This card was not tried.`,
        `Send the same call again after ${wait} seconds.`,
      ],
      facts: { principal: who, open: open.length, own, retry_after: wait },
      fix: later(asked, wait),
    }
  },

  async card_minimum(asked) {
    const price = await priceOf(asked)
    const [[dq, sum] = ['', 0n]] = price?.sums ?? []
    return {
      sentences: [
        `The price is ${price ? await money(asked.tx, dq, sum) : 'below what cards take'}. Cards are charged in whole cents, at least 0.50.`,
        'Pay from a wallet: leave out `payment_method_id`, and sign in if you are a guest.',
      ],
      facts: { price: price ? await money(asked.tx, dq, sum) : null, least: 0.5 },
      fix: corrected(asked, { body: { payment_method_id: undefined } }),
    }
  },

  async card_required(asked) {
    const { plan, card } = await subscriptionIn(asked)
    return {
      sentences: [
        `${asked.entry.principal ?? 'The account'} has the plan ${plans[plan].name} and ${card ? 'a card on file' : 'no card on file'}. ${named('plan', sentText(asked, 'plan'))} is charged every month.`,
      ],
      facts: {
        account: callerId(asked, 'account') ?? null,
        plan,
        wanted: asked.body.plan ?? null,
        card: card?.card ?? null,
      },
      fix: corrected(asked, { body: { payment_method_id: 'pm_card_visa' } }),
    }
  },

  async card_in_use(asked) {
    const { plan, card, unpaid_invoice_id } = await subscriptionIn(asked)
    return {
      sentences: [
        `The card ${card ? `${card.card.brand} ${card.card.last4}` : 'on file'} pays the plan ${plans[plan].name}${unpaid_invoice_id === null ? '' : ` and invoice ${unpaid_invoice_id}`}.`,
        'Save another card instead, or change to the free plan and wait for the end of the period.',
      ],
      facts: { plan, card: card?.card ?? null, unpaid_invoice: unpaid_invoice_id },
      fix: {
        operation_id: 'updateCard',
        example: {
          method: 'PUT',
          path: '/v4/billing/card',
          as: asked.entry.principal ?? '',
          body: { payment_method_id: 'pm_card_mastercard' },
        },
        next: null,
      },
    }
  },

  async invoice_not_open(asked) {
    const invoice = await invoiceIn(asked)
    return {
      sentences: [
        `${named('invoice', invoice?.id ?? asked.params.id)}${invoice ? ` of ${dollarsOf(invoice)} USD` : ''} is ${invoice ? `\`${invoice.status}\`` : 'not there'}${invoice?.paid_at == null ? '' : ` since ${timeText(invoice.paid_at)}`}. Only an open one can be paid.`,
        invoice?.status === 'paid' ? 'Nothing is left to pay.' : 'GET /v4/billing/invoices lists those of the account.',
      ],
      facts: invoiceFacts(invoice),
    }
  },

  async invoice_unpaid(asked) {
    const invoice = await invoiceIn(asked)
    return {
      sentences: [
        `${named('invoice', invoice?.id)} of ${dollarsOf(invoice)} USD is ${invoice ? `\`${invoice.status}\`` : 'unpaid'}${invoice?.failures ? `, after ${plural(invoice.failures, 'declined charge')}` : ''}.`,
        'Pay it, then change the plan.',
      ],
      facts: invoiceFacts(invoice),
      fix:
        invoice &&
        first(asked, 'payInvoice', {
          method: 'POST',
          path: `/v4/billing/invoices/${invoice.id}/pay`,
          as: `account:${invoice.account_id}`,
          body: { payment_method_id: 'pm_card_visa' },
        }),
    }
  },

  async charge_pending(asked) {
    const invoice = await invoiceIn(asked)
    return {
      sentences: [
        invoice
          ? `Invoice ${invoice.id} of ${dollarsOf(invoice)} USD is \`${invoice.status}\`, and its charge has no outcome yet.`
          : 'The renewal of the plan is due at this moment.',
        'The service asks the card processor again by itself. Repeat the request after that.',
      ],
      facts: invoiceFacts(invoice),
      fix: later(asked, 60),
    }
  },
} satisfies Explainers

const subscriptionIn = (asked: RefusedRequest) => subscriptionOf(asked.tx, callerId(asked, 'account') ?? 0)

/** The payment method that an account has on file. */
async function cardOnFile(asked: RefusedRequest): Promise<string | undefined> {
  return (await subscriptionIn(asked)).card?.payment_method_id
}

async function invoiceIn(asked: RefusedRequest): Promise<InvoiceRow | undefined> {
  const isInPath = asked.operation?.path.includes('/invoices/:id') ?? false
  const id = isInPath ? Number(asked.params.id) : saidNumber(asked, 'invoice_id')
  return id === undefined ? undefined : asked.tx.get(invoices, id)
}

const dollarsOf = (invoice: InvoiceRow | undefined): string => (Number(invoice?.total ?? 0) / 100).toFixed(2)

const invoiceFacts = (invoice: InvoiceRow | undefined) => ({
  invoice: invoice?.id ?? null,
  invoice_status: invoice?.status ?? null,
  total: invoice ? Number(invoice.total) / 100 : null,
  failures: invoice?.failures ?? null,
  next_try_at: invoice?.next_try_at == null ? null : timeText(invoice.next_try_at),
})
