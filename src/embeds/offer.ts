import { accounts, sellerName } from '../accounts/account.js'
import { type CommodityRow, commodities } from '../commodities/commodity.js'
import { quantityOf } from '../digital-quantities/digital-quantity.js'
import type { Reader } from '../storage/storage.js'
import type { Embed } from './embed.js'
import { priceText } from './price.js'
import type { Theme } from './style.js'

/** How a page wants an embed (clients.md 9). */
export interface EmbedWish {
  readonly hash: string
  readonly theme: Theme | undefined
  readonly style?: string | undefined
  readonly leading?: string | undefined
  readonly middle?: string | undefined
  readonly trailing?: string | undefined
  readonly decimalPoints?: string | undefined
  readonly sandbox: boolean
}

/** What the embed of a commodity shows, or undefined where there is no such commodity. */
export async function embedOf(tx: Reader, wish: EmbedWish): Promise<Embed | undefined> {
  const commodity = await tx.get(commodities, wish.hash)
  if (!commodity) return undefined
  const { shortcode, decimals } = await quantityOf(tx, commodity.dq)
  return {
    hash: commodity.id,
    seller: await sellerOf(tx, commodity),
    descriptor: commodity.descriptor,
    price: priceText(commodity.cost, decimals),
    dq: commodity.dq,
    shortcode,
    decimals,
    label: {
      leading: label(wish.leading) || 'Pay',
      price: priceText(commodity.cost, decimals, pointsOf(wish.decimalPoints)),
      after: [label(wish.middle), label(wish.trailing)].filter((text) => text !== ''),
    },
    theme: wish.theme,
    style: wish.style,
    sandbox: wish.sandbox,
  }
}

/** The seller's name, or the hostname that is paid where the account has none. */
async function sellerOf(tx: Reader, { owner, hostname }: CommodityRow): Promise<string> {
  const [kind, id] = owner.split(':')
  const account = kind === 'account' ? await tx.get(accounts, Number(id)) : undefined
  return (account && sellerName(account)) || hostname
}

const label = (text = ''): string => text.replace(/\s+/g, ' ').trim().slice(0, 80)

const pointsOf = (text = ''): number | undefined => (/^[0-9]$/.test(text) ? Number(text) : undefined)
