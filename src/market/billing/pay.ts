import type { CardRow } from '../../base/message.js'
import { type Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type { StoreAnswer } from '../../http/stored-answer.js'
import { runFlow } from '../../jobs/flows/flow.js'
import { chargeNow, checkProcessor } from '../../money/cards/charge-now.js'
import { getExisting } from '../../storage/existing.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type CardOnFile, cardOf, subscriptionOf } from '../plans/subscription.js'
import { saveAccountCard } from './card.js'
import { postInvoiceCharge, unpaidProblem } from './charge.js'
import { ownInvoice, type ShownInvoice, showInvoice } from './invoice.js'
import { type InvoiceRow, invoices } from './invoice-row.js'

export interface InvoicePayment {
  readonly accountId: number
  readonly id: number
  /** A card to use instead of the one on file. It is stored on file once it is charged. */
  readonly paymentMethodId?: string | undefined
}

/**
 * Charges a card for an invoice that is owed, and returns the paid invoice.
 * Throws `not_found`, `invoice_not_open`, `charge_pending`, `too_many_declines`, `card_declined`, and
 * `processor_failed` if nothing was charged or the outcome is unknown.
 */
export async function payInvoice(
  { accountId, id, paymentMethodId }: InvoicePayment,
  service: ServiceContext,
  storeAnswer: StoreAnswer<ShownInvoice | Problem>,
): Promise<ShownInvoice> {
  checkProcessor(service)
  await service.storage.read((tx) => payableInvoice(tx, accountId, id))
  const card = paymentMethodId === undefined ? undefined : await saveAccountCard(accountId, paymentMethodId, service)
  return runFlow('payment of an invoice', service, async (run) => {
    const message = await run.transaction('begin', async (tx) => {
      const message = await beginPayment(
        tx,
        await payableInvoice(tx, accountId, id),
        { card, claim: run.token },
        service,
      )
      await storeAnswer(tx, unpaidProblem(await getExisting(tx, invoices, id), undefined), { provisional: true })
      return message
    })
    const result = await chargeNow(message, run, service)
    return run.answer(async (tx) => {
      const invoice = await ownInvoice(tx, accountId, id)
      if (invoice.status === 'paid') return showInvoice(invoice)
      // The service's own charge may have been due meanwhile, and runs now.
      const charge = invoice.charge?.id === message.charge.id ? invoice.charge : null
      return unpaidProblem({ ...invoice, charge }, result)
    }, storeAnswer)
  })
}

async function payableInvoice(tx: Reader, accountId: number, id: number): Promise<InvoiceRow> {
  const invoice = await ownInvoice(tx, accountId, id)
  if (invoice.charge) throw problem('charge_pending', { fields: { invoice_id: id } })
  if (invoice.status === 'open') return invoice
  const { status } = invoice
  throw problem('invoice_not_open', { detail: `The invoice is ${status}.`, fields: { invoice_status: status } })
}

async function beginPayment(
  tx: Writer,
  invoice: InvoiceRow,
  { card, claim }: { readonly card: CardOnFile | undefined; readonly claim: string },
  service: ServiceContext,
): Promise<CardRow> {
  const subscription = await subscriptionOf(tx, invoice.account_id)
  const at = service.clock.now()
  return postInvoiceCharge(tx, invoice, { card: card ?? cardOf(subscription), claim, at }, service)
}
