import { readFields } from '../../src/http/fields/body.js'
import * as z from '../../src/http/fields/zod.js'
import { type Reply, reply } from '../../src/http/reply.js'
import { article, restOfArticle } from '../shop/article.js'
import { bearerHeader, callService, type Seller, validatePayment } from '../shop/seller.js'
import type { SandboxPages } from './pages.js'

/** In bytes. Every proof of payment is shorter. */
const LIMIT = 10_000

/** The shop's server: answers with the rest of the article if the service validates the payment. */
export async function unlock(options: SandboxPages, request: Request): Promise<Reply<object>> {
  const { nonce, timestamp } = await readFields(
    { request, headers: request.headers, source: {} },
    { limit: LIMIT, isSnapshot: false },
  )
  const { status, body } = await validatePayment(options, options.demo.commodities.article, { nonce, timestamp })
  if (status !== 200) return reply({ status, value: body })
  return reply({ value: { paragraphs: restOfArticle, payment: body.payment } })
}

/** Answers the endpoint of the demo's item: the paragraphs that contain all the words of `?words=`. */
export async function archive(_options: SandboxPages, { url }: Request): Promise<Reply<object>> {
  const words = (new URL(url).searchParams.get('words') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const found = [...article.opening, ...restOfArticle].filter((text) =>
    words.every((word) => text.toLowerCase().includes(word)),
  )
  return reply({ value: { headline: article.headline, paragraphs: found } })
}

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
