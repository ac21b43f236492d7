import { json, Router } from 'express'
import { type Client, Refusal } from 'farthing/client'
import { type Article, articlePage, type Shop } from './article-page.js'

/** `GET /:slug` shows the page of an article. `POST /:slug` takes a payment, and answers the story. */
export function paidArticles(seller: Client, shop: Shop, articles: ReadonlyMap<string, Article>): Router {
  const router = Router()

  router.param('slug', (_req, res, next, slug: string) => {
    res.locals.article = articles.get(slug)
    next(res.locals.article ? undefined : 'router')
  })

  router.get('/:slug', (_req, res) => {
    res.send(articlePage(res.locals.article, shop))
  })

  router.post('/:slug', json(), async (req, res) => {
    const { hash, story }: Article = res.locals.article
    const { nonce, timestamp } = req.body ?? {}
    try {
      // This spends the nonce, so the same payment never counts twice. The hash is ours, not the reader's.
      await seller.payments.validate(hash, { nonce, timestamp })
    } catch (error) {
      // The payment does not count. Every other status is a mistake of ours, such as wrong credentials.
      if (!(error instanceof Refusal && error.status === 400)) throw error
      res.status(402).json({ code: error.code, error: error.message })
      return
    }
    res.json({ story })
  })

  return router
}
