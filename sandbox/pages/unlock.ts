import { readFields } from '../../src/http/fields/body.js'
import { type Reply, reply } from '../../src/http/reply.js'
import { restOfArticle } from '../shop/article.js'
import { validate } from '../shop/seller.js'
import type { SandboxPages } from './options.js'

/** More than any proof of payment. */
const LIMIT = 10_000

/** The shop's server: gives the rest of the article to whoever shows a payment that the service finds valid. */
export async function unlock(options: SandboxPages, request: Request): Promise<Reply<object>> {
  const { nonce, timestamp } = await readFields({ request, headers: request.headers, source: {} }, LIMIT)
  const { status, body } = await validate(options, options.demo.commodities.article, { nonce, timestamp })
  if (status !== 200) return reply({ status, value: body })
  return reply({ value: { paragraphs: restOfArticle, payment: body.payment } })
}
