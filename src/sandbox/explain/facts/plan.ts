import { invoices } from '../../../market/billing/invoice-row.js'
import { subscriptionOf } from '../../../market/plans/subscription.js'
import type { RefusedRequest } from './refused-request.js'
import { timeText } from './words.js'

/** The plan of the calling account. */
export const subscriptionIn = (asked: RefusedRequest) => subscriptionOf(asked.tx, asked.callerId('account') ?? 0)

/** The payment method that the calling account has on file. */
export async function cardOnFile(asked: RefusedRequest): Promise<string | undefined> {
  return (await subscriptionIn(asked)).card?.payment_method_id
}

/** The invoice that a request or its refusal names. */
export async function invoiceFacts(asked: RefusedRequest) {
  const isInPath = asked.operation?.path.includes('/invoices/:id') ?? false
  const id = isInPath ? Number(asked.params.id) : (asked.numberFact('invoice_id') ?? 0)
  const invoice = await asked.tx.get(invoices, id)
  const total = invoice && Number(invoice.total) / 100
  return {
    ...{ invoice: invoice?.id, invoice_status: invoice?.status, account: invoice?.account_id },
    ...{ total, dollars: total?.toFixed(2), failures: invoice?.failures || null },
    paid_at: invoice?.paid_at == null ? null : timeText(invoice.paid_at),
    next_try_at: invoice?.next_try_at == null ? null : timeText(invoice.next_try_at),
  }
}
