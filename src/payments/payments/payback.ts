import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { provenEmailOf } from '../../identity/users/user.js'
import { commodityOf, type PriceQuote } from '../../money/commodities/commodity.js'
import { firstTwinOf } from '../../money/twins/twin.js'
import { collection, type Writer } from '../../storage/storage.js'
import { checkSeenCost, movePrice, sellerTwin } from './payment.js'

/** What a reader consented to, in return for a commodity's price. The id is the commodity's hash and the owner, so they get it once. */
export interface PaybackRow {
  readonly id: `${string}:${Owner}`
  readonly payment_id: number
  /** The texts that the reader saw. */
  readonly consent: readonly string[]
  /** The origin of the page that asked, if known. */
  readonly origin: string | null
}

export const paybacks = collection<PaybackRow>()(
  'paybacks',
  {},
  {
    refs: { payment_id: 'payments' },
    growth: {
      by: 'a user, by createPayback',
      bound: 'One for each user and commodity. Each costs its seller a payment.',
    },
    retention: { forever: 'Nobody gets the same payback twice.' },
  },
)

export interface PaybackOrder {
  readonly hash: string
  readonly reader: Owner
  readonly consent: readonly string[]
  readonly origin: string | null
  readonly seen?: PriceQuote | undefined
  readonly at: number
}

/** Pays the reader of a commodity. Throws `not_found`, `payback_refused`, `email_unproven`, `payback_taken`, `price_changed`. */
export async function createPayback(
  tx: Writer,
  { hash, reader, consent, origin, seen = {}, at }: PaybackOrder,
  context: Pick<ServiceContext, 'random' | 'limits'>,
) {
  const commodity = await commodityOf(tx, hash)
  if (!commodity.payback) throw problem('payback_refused')
  if ((await provenEmailOf(tx, reader)) === undefined) throw problem('email_unproven')
  const quantity = await checkSeenCost(tx, commodity, seen)
  const id = `${commodity.id}:${reader}` as const
  if (await tx.get(paybacks, id)) throw problem('payback_taken')
  const eventData = { consent, origin }
  const order = {
    kind: 'payback',
    commodity,
    quantity,
    from: sellerTwin(commodity),
    to: await firstTwinOf(tx, reader),
    actor: reader,
    at,
    eventData,
  } as const
  const paid = await movePrice(tx, order, context)
  tx.put(paybacks, { id, payment_id: paid.id, consent, origin })
  return paid
}
