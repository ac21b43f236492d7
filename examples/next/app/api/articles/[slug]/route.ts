import { Refusal } from 'farthing/client'
import { articles } from '../../../../lib/articles'
import { sellerAccount } from '../../../../lib/seller'

/** Takes a payment, and answers the story. */
export async function POST(request: Request, { params }: { params: Promise<{ slug: string }> }): Promise<Response> {
  const article = articles.get((await params).slug)
  if (!article) return new Response(null, { status: 404 })
  const { nonce, timestamp } = await request.json()
  try {
    // This spends the nonce, so the same payment never counts twice. The hash is ours, not the reader's.
    await sellerAccount().payments.validate(article.hash, { nonce, timestamp })
  } catch (error) {
    // The payment does not count. Every other status is a mistake of ours, such as wrong credentials.
    if (!(error instanceof Refusal && error.status === 400)) throw error
    return Response.json({ code: error.code, error: error.message }, { status: 402 })
  }
  return Response.json({ story: article.story })
}
