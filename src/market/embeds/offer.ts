import { problem } from '../../base/problem.js'
import { personaOf } from '../../consent/personas/persona.js'
import { sellerOf } from '../../identity/accounts/account.js'
import { type CommodityRow, commodityOf } from '../../money/commodities/commodity.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import type { Reader } from '../../storage/storage.js'
import { checkForSale } from '../catalog/for-sale.js'
import { priceText } from './browser/price.js'

/** What a page wants an embed to say (clients.md 9). */
export interface EmbedRequest {
  readonly hash: string
  readonly leading?: string | undefined
  readonly middle?: string | undefined
  readonly trailing?: string | undefined
  readonly decimalPoints?: string | undefined
  readonly issueMin?: string | undefined
  readonly issueMax?: string | undefined
  readonly sandbox: boolean
}

/** What the embed of a commodity shows. */
export interface EmbedOffer {
  readonly hash: string
  /** Who is paid, or pays back. */
  readonly seller: string
  /** The receipt line. */
  readonly descriptor: string
  /** The exact price. */
  readonly price: string
  readonly free: boolean
  readonly dq: string
  readonly shortcode: string
  readonly decimals: number
  /** What the closed button says, part by part, with the price as the page wants it. */
  readonly label: Label & { readonly price: string }
  readonly sandbox: boolean
}

interface Label {
  readonly leading: string
  readonly after: readonly string[]
}

/** A commodity to be paid for. Throws `not_found`, `payback_only`, `item_inactive`. */
export async function paymentOffer(tx: Reader, wish: EmbedRequest): Promise<EmbedOffer> {
  const commodity = await commodityOf(tx, wish.hash)
  if (commodity.payback) throw problem('payback_only')
  await checkForSale(tx, commodity.id)
  return offerOf(tx, commodity, wish, 'Pay')
}

/** A commodity that pays its reader. Throws `not_found`, `payback_refused`. */
export async function paybackOffer(tx: Reader, wish: EmbedRequest): Promise<EmbedOffer> {
  const commodity = await commodityOf(tx, wish.hash)
  if (!commodity.payback) throw problem('payback_refused')
  return offerOf(tx, commodity, wish, 'Get')
}

/** `verb`: what the closed button says first, unless the page wants something else. */
async function offerOf(tx: Reader, commodity: CommodityRow, wish: EmbedRequest, verb: string): Promise<EmbedOffer> {
  const { shortcode, decimals } = await quantityOf(tx, commodity.dq)
  const { id: hash, descriptor, cost, dq } = commodity
  return {
    hash,
    seller: await sellerOf(tx, commodity),
    descriptor,
    price: priceText(cost, decimals),
    free: cost === '0',
    dq,
    shortcode,
    decimals,
    label: { ...labelOf(wish, verb), price: priceText(cost, decimals, wholeNumber(wish.decimalPoints, 1)) },
    sandbox: wish.sandbox,
  }
}

/** What the embed of a persona shows, and asks for. */
export interface PersonaOffer {
  readonly hash: string
  readonly name: string
  readonly description: string | null
  readonly issuer: string
  /** Which of its delegates count; all where absent. */
  readonly issueMin: number | undefined
  readonly issueMax: number | undefined
  readonly label: Label
  readonly sandbox: boolean
}

/** Throws `not_found`. */
export async function personaOffer(tx: Reader, wish: EmbedRequest): Promise<PersonaOffer> {
  const persona = await personaOf(tx, wish.hash)
  return {
    hash: persona.id,
    name: persona.name,
    description: persona.description,
    issuer: await sellerOf(tx, persona),
    issueMin: wholeNumber(wish.issueMin, 15),
    issueMax: wholeNumber(wish.issueMax, 15),
    label: labelOf(wish, 'Verify'),
    sandbox: wish.sandbox,
  }
}

const labelOf = ({ leading, middle, trailing }: EmbedRequest, verb: string): Label => ({
  leading: oneLine(leading) || verb,
  after: [oneLine(middle), oneLine(trailing)].filter((text) => text !== ''),
})

const oneLine = (text = ''): string => text.replace(/\s+/g, ' ').trim().slice(0, 80)

/** Of so many digits; anything else is dropped. */
const wholeNumber = (text = '', digits: number): number | undefined =>
  new RegExp(`^\\d{1,${digits}}$`).test(text) ? Number(text) : undefined
