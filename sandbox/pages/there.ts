import { bearer, call, type Seller } from '../shop/seller.js'

/** What of the demo the service holds; null where its state was begun with another seed. */
export interface DemoThere {
  readonly article: { readonly cost: number; readonly descriptor: string }
  readonly song: { readonly cost: number; readonly descriptor: string }
}

export async function readDemo(seller: Seller): Promise<DemoThere | null> {
  const { account, commodities } = seller.demo
  if ((await bearer(seller, 'account', account)) === undefined) return null
  const [article, song] = await Promise.all(
    [commodities.article, commodities.song].map((hash) => call(seller, 'GET', `/v4/commodity/${hash}`)),
  )
  if (article?.status !== 200 || song?.status !== 200) return null
  return { article: article.body, song: song.body } as unknown as DemoThere
}
