import * as z from '../../src/http/fields/zod.js'
import { bearer, call, type Seller } from '../shop/seller.js'

/** What of the demo the service holds; null where its state was begun with another seed. */
export interface DemoThere {
  readonly article: Sold
  readonly song: Sold
}

const Sold = z.object({ cost: z.number(), descriptor: z.string() })
type Sold = Readonly<z.output<typeof Sold>>

export async function readDemo(seller: Seller): Promise<DemoThere | null> {
  const { account, commodities } = seller.demo
  if ((await bearer(seller, 'account', account)) === undefined) return null
  const [article, song] = await Promise.all(
    [commodities.article, commodities.song].map((hash) => call(seller, 'GET', `/v4/commodity/${hash}`)),
  )
  if (article?.status !== 200 || song?.status !== 200) return null
  return { article: Sold.parse(article.body), song: Sold.parse(song.body) }
}
