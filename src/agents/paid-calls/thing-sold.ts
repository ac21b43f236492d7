import type { Owner } from '../../base/owner.js'
import { required } from '../../base/required.js'
import type { ServiceContext } from '../../http/context.js'
import type { CalledEndpoint } from '../../market/purchases/purchase.js'
import type { DigitalQuantityRow } from '../../money/digital-quantities/digital-quantity.js'
import type { TwinRow } from '../../money/twins/twin.js'
import type { PaymentRow, SpentNonce } from '../../payments/payments/payment.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { SignerApproval } from '../wallets/signer.js'
import { payToOf } from '../wallets/wallet.js'
import type { PaymentOffer } from './dialect.js'
import { offerOn } from './way-to-pay.js'

/** What something costs, and whom. */
export interface AskedPrice {
  readonly quantity: DigitalQuantityRow
  /** Smallest units. */
  readonly amount: bigint
  readonly payee: TwinRow
}

/** Something that a signed transfer pays for: a call of an item, or of the paywall. `Q`: its quote. `D`: what is delivered. */
export interface ThingSold<Q extends AskedPrice, D> {
  /** What the name of a payment stands for. */
  readonly named: object
  /** The price now. Throws if it is not for sale. */
  quote(tx: Reader): Promise<Q>
  /** Called before anything is held. */
  admit?(tx: Writer, quote: Q): Promise<void>
  /** What the user of an app that pays approves. */
  approval(tx: Reader, quote: Q): SignerApproval | Promise<SignerApproval>
  /** What is called for it. */
  calls(quote: Q): readonly CalledEndpoint[]
  /** Takes the payment, and delivers. `isNamed`: the payer may read it again. Throws if the payment was reversed. */
  deliver(pay: Pay<Q>, how: { readonly isNamed: boolean }): Promise<D>
  /** The same once more. Throws `idempotency_unreadable` if it is no longer kept. */
  readAgain(tx: Reader, payment: PaymentRow): Promise<D>
}

/** Who pays for a quote, and by what right. */
export interface PaidQuote<Q extends AskedPrice> {
  readonly quote: Q
  readonly payer: TwinRow
  readonly buyer: Owner
  /** Whose limits count what the payment causes. */
  readonly bearer: Owner
  /** Of the events. */
  readonly actor: string
  readonly delegate: string | null
  readonly spentNonce: SpentNonce
  readonly at: number
}

/** Spends what allows the payer to pay, in the transaction in which `take` moves or holds the value. */
export type Pay<Q extends AskedPrice> = <Taken extends { readonly id: number }>(
  tx: Writer,
  take: (paid: PaidQuote<Q>) => Promise<Taken>,
) => Promise<Taken>

/** What something costs on the first network. */
export async function offerOf(
  tx: Reader,
  { quantity, amount, payee }: AskedPrice,
  { options }: Pick<ServiceContext, 'options'>,
): Promise<PaymentOffer> {
  const network = required(options.dialects.networks[0], 'the network of offers')
  return offerOn(network, { quantity, amount, payTo: await payToOf(tx, payee) })
}
