import { readFields } from '../../src/http/fields/body.js'
import { type Reply, reply } from '../../src/http/reply.js'
import { restOfArticle } from '../shop/article.js'
import { validatePayment } from '../shop/seller.js'
import type { SandboxPages } from './options.js'

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
