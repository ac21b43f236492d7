import * as z from '../../src/http/fields/zod.js'
import { bearerHeader, callService, type Seller } from '../shop/seller.js'

/** What the service knows about the demo's commodities. */
export interface DemoState {
  readonly article: Sold
  readonly song: Sold
}

const Sold = z.object({ cost: z.number(), descriptor: z.string() })
type Sold = Readonly<z.output<typeof Sold>>

/** Reads the demo's state from the service. Returns null if the service started with another seed. */
export async function readDemoState(seller: Seller): Promise<DemoState | null> {
  const { account, commodities } = seller.demo
  if ((await bearerHeader(seller, 'account', account)) === undefined) return null
  const [article, song] = await Promise.all(
    [commodities.article, commodities.song].map((hash) => callService(seller, 'GET', `/v4/commodity/${hash}`)),
  )
  if (article?.status !== 200 || song?.status !== 200) return null
  return { article: Sold.parse(article.body), song: Sold.parse(song.body) }
}
