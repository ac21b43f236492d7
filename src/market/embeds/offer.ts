import { problem } from '../../base/problem.js'
import { personaOf } from '../../consent/personas/persona.js'
import type { FixedOptions } from '../../http/context.js'
import { sellerOf } from '../../identity/accounts/account.js'
import { type CommodityRow, commodityOf } from '../../money/commodities/commodity.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import type { Reader } from '../../storage/storage.js'
import { checkForSale } from '../catalog/item-row.js'
import { formatPrice } from './browser/price.js'

type Sent = 'leading' | 'middle' | 'trailing' | 'decimalPoints' | 'issueMin' | 'issueMax'

export interface EmbedRequest extends Readonly<Partial<Record<Sent, string | undefined>>> {
  readonly hash: string
  readonly sandbox: boolean
  /** Whether the service charges cards. */
  readonly cards: boolean
  /** The unit of the balances that the page reads. */
  readonly balances?: FixedOptions['balances']
}

/** What the embed of a commodity shows. `seller`: whoever is paid, or pays back. `price`: exact, unlike that of the label. */
export type EmbedOffer = Awaited<ReturnType<typeof offerOf>>

/** What the embed of a persona shows. Without a range, all numbers of delegates count. */
export type PersonaOffer = Awaited<ReturnType<typeof personaOffer>>

/** Returns the offer of a commodity that is for sale. Throws `not_found`, `payback_only`, `item_inactive`. */
export async function paymentOffer(tx: Reader, request: EmbedRequest): Promise<EmbedOffer> {
  const commodity = await commodityOf(tx, request.hash)
  if (commodity.payback) throw problem('payback_only')
  await checkForSale(tx, commodity.id)
  return offerOf(tx, commodity, request, 'Pay')
}

/** Returns the offer of a commodity that pays its user. Throws `not_found`, `payback_refused`. */
export async function paybackOffer(tx: Reader, request: EmbedRequest): Promise<EmbedOffer> {
  const commodity = await commodityOf(tx, request.hash)
  if (!commodity.payback) throw problem('payback_refused')
  return offerOf(tx, commodity, request, 'Get')
}

/** `verb`: default for the first word of the closed button. */
async function offerOf(tx: Reader, commodity: CommodityRow, request: EmbedRequest, verb: string) {
  const { shortcode, decimals } = await quantityOf(tx, commodity.dq)
  const { id: hash, descriptor, cost, dq } = commodity
  return {
    hash,
    seller: await sellerOf(tx, commodity),
    descriptor,
    price: formatPrice(cost, decimals),
    free: cost === '0',
    dq,
    shortcode,
    decimals,
    label: { ...labelOf(request, verb), price: formatPrice(cost, decimals, wholeNumber(request.decimalPoints, 1)) },
    sandbox: request.sandbox,
    cards: request.cards,
    balances: request.balances ?? ('quantity' as const),
  }
}

/** Returns what the embed of a persona shows. Throws `not_found`. */
export async function personaOffer(tx: Reader, request: EmbedRequest) {
  const persona = await personaOf(tx, request.hash)
  return {
    hash: persona.id,
    name: persona.name,
    description: persona.description,
    issuer: await sellerOf(tx, persona),
    issueMin: wholeNumber(request.issueMin, 15),
    issueMax: wholeNumber(request.issueMax, 15),
    label: labelOf(request, 'Verify'),
    sandbox: request.sandbox,
  }
}

const labelOf = ({ leading, middle, trailing }: EmbedRequest, verb: string) => ({
  leading: oneLine(leading) || verb,
  after: [oneLine(middle), oneLine(trailing)].filter((text) => text !== ''),
})

const oneLine = (text = ''): string => text.replace(/\s+/g, ' ').trim().slice(0, 80)

const wholeNumber = (text = '', digits: number): number | undefined =>
  new RegExp(`^\\d{1,${digits}}$`).test(text) ? Number(text) : undefined
